//go:build linux || darwin

package probe

import (
	"context"
	"errors"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Run runs one program to its end and returns when no descendant of it is left.
//
// The error is not nil only when spec is refused, when a required property
// cannot be enforced, when the program could not be observed, or when
// spec.Inspect failed. A program that exits non-zero, is killed by a limit or
// cannot be started is a [Result]. When only removing the scratch directory or
// spec.Inspect failed, the Result is returned beside the error.
func Run(ctx context.Context, spec Spec) (*Result, error) {
	e, why := hostEngine()
	r, err := runWith(ctx, spec, e)
	for _, refused := range []reason{errTraceRefused, errUnreadable} {
		if r == nil && errors.Is(err, refused) {
			e, why = portableEngine{}, string(refused)
			r, err = runWith(ctx, spec, e)
		}
	}
	if r != nil {
		r.EngineReason = why
	}
	return r, err
}

// runWith is Run with a given engine.
func runWith(ctx context.Context, spec Spec, e engine) (result *Result, err error) {
	limits, err := spec.check()
	if err != nil {
		return nil, err
	}
	if _, err := spec.Env.compose("/"); err != nil {
		return nil, err
	}
	scratch, err := makeScratch(spec.ScratchParent)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, removeScratch(scratch)) }()
	j, env, err := spec.job(scratch, limits)
	if err != nil {
		return nil, err
	}
	if err := j.enforceable(e); err != nil {
		return nil, err
	}
	result, err = perform(ctx, spec, e, j)
	if err != nil {
		return nil, err
	}
	result.EnvNames, result.Withheld = env.names, nonNil(env.withheld)
	result.Engine = e.name()
	if spec.ObserveFiles && result.Observed == nil {
		result.Observed = []ObservedFile{}
		if result.ObservedIncomplete == "" {
			result.ObservedIncomplete = notObserved(result)
		}
	}
	if spec.Inspect != nil {
		if err := spec.Inspect(scratch, result); err != nil {
			return result, &Error{Code: CodeInspect, Op: "inspect the result of", Path: spec.Path, Err: err}
		}
	}
	return result, nil
}

// job expands spec for a scratch directory.
func (s *Spec) job(scratch string, limits Limits) (*job, environment, error) {
	argv, err := expandArgs(s.Args, scratch)
	if err != nil {
		return nil, environment{}, err
	}
	env, err := s.Env.compose(scratch)
	if err != nil {
		return nil, environment{}, err
	}
	return &job{
		path: s.Path, argv: argv, env: env.list, scratch: scratch, limits: limits, expect: s.Expect,
		network: s.Isolation.Network, require: s.Isolation.Require,
		write: expandPaths(s.Isolation.Write, scratch), read: expandPaths(s.Isolation.Read, scratch),
		spaces: s.Isolation.Namespaces, observe: s.ObserveFiles, stop: &stopper{},
	}, env, nil
}

// enforceable refuses the job when this host would not enforce what it requires.
// A job that requires nothing asks nothing: finding out takes as long as some of
// the restrictions themselves.
func (j *job) enforceable(e engine) error {
	if len(j.require) == 0 && len(j.spaces) == 0 {
		return nil
	}
	have := e.properties(j)
	if err := enforceable(have, j.require); err != nil {
		return err
	}
	return namespacesMade(have, j.spaces)
}

// enforceable refuses a run of which a required property would not hold.
func enforceable(have []PropertyStatus, require []Property) error {
	for _, p := range require {
		why := "this host's engine does not know it"
		enforced := false
		for _, status := range have {
			if status.Property == p {
				enforced, why = status.Enforced, status.Reason
			}
		}
		if !enforced {
			return &Error{Code: CodeNotEnforceable, Op: "enforce", Path: string(p), Err: reason(why)}
		}
	}
	return nil
}

// perform runs the job and puts its result together.
func perform(ctx context.Context, spec Spec, e engine, j *job) (*Result, error) {
	pipes, err := openStreams(spec.Stdin, spec.ScratchParent)
	if err != nil {
		return nil, err
	}
	j.files = pipes.child
	overflow := func() { j.stop.stop(facts{output: true}) }
	stdout := collect(pipes.stdout, j.limits.Stdout, overflow)
	stderr := collect(pipes.stderr, j.limits.Stderr, overflow)

	var seen *observed
	if ctx.Err() != nil {
		seen = &observed{isolation: e.properties(j)}
		j.stop.stop(facts{cancelled: true})
	} else {
		unhook := context.AfterFunc(ctx, func() { j.stop.stop(facts{cancelled: true}) })
		var timer *time.Timer
		j.begin = func() { timer = time.AfterFunc(j.limits.Wall, func() { j.stop.stop(facts{timedOut: true}) }) }
		seen, err = e.run(j)
		if timer != nil {
			timer.Stop()
		}
		unhook()
	}
	j.stop.close()
	pipes.closeChild()
	stdout.finish()
	stderr.finish()
	if err != nil {
		return nil, err
	}
	r := seen.result(j.stop.known())
	r.Stdout, r.StdoutExceeded = stdout.data, stdout.exceeded
	r.Stderr, r.StderrExceeded = stderr.data, stderr.exceeded
	return r, nil
}

// result decides the outcome and fills in what the engine saw.
func (o *observed) result(f facts) *Result {
	f.cpu = f.cpu || o.cpuOver
	f.memory = f.memory || o.memoryOver
	f.identity = f.identity || o.notMatched
	f.startFailed = o.start != nil
	f.signaled = o.signal != 0
	f.exited = o.signal == 0 && o.start == nil && o.processes > 0
	r := &Result{
		Outcome: f.outcome(), FileSizeExceeded: o.fileSize, Wall: o.wall, User: o.user, System: o.sys, CPU: o.cpu,
		Memory: o.memory, Processes: o.processes, Counted: o.counted, Peak: o.peak, Counters: o.counters,
		Leftover: nonNil(o.leftover), Executed: o.executed, Isolation: o.isolation, Limits: o.limits,
		Expectation: o.expected, Observed: o.files, ObservedFailed: o.filesFailed, ObservedIncomplete: o.filesIncomplete,
	}
	switch r.Outcome {
	case Exited:
		code := o.exitCode
		r.ExitCode = &code
	case Signaled:
		r.Signal = signalName(o.signal)
	case StartFailed:
		r.StartError = o.start
	case Unknown, TimedOut, Cancelled, OutputLimitExceeded, CPULimitExceeded, MemoryLimitExceeded,
		ProcessLimitExceeded, IdentityChanged:
	}
	r.Memory.explain(r.Outcome)
	if x := r.Expectation; x != nil && !x.Lease && x.LeaseReason == "" {
		x.LeaseReason = "the portable engine takes none"
	}
	return r
}

// explain gives a missing figure its reason when the engine had none.
func (m *Memory) explain(o Outcome) {
	for _, f := range []*Figure{&m.Process, &m.Tree} {
		if f.Bytes == nil && f.Reason == "" {
			f.Reason = "the program did not run: " + o.String()
		}
	}
	if m.Process.Scope == "" {
		m.Process.Scope, m.Tree.Scope = scopeProcess, scopeTree
	}
}

// signalName returns a name such as SIGSEGV, or SIG and the number.
func signalName(number int) string {
	if name := unix.SignalName(unix.Signal(number)); name != "" {
		return name
	}
	return "SIG" + strconv.Itoa(number)
}

func nonNil[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
