package provider

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/provider-measure/provider-measure/digest"
	"github.com/provider-measure/provider-measure/probe"
)

// interpolationFor collects what a manifest's commands may name on this host.
// Only what the commands use is looked for: a provider without Python must not
// fail for lack of one.
func (h *Host) interpolationFor(ctx context.Context, m *Manifest, measured Measured, c Command) (interpolation, error) {
	in := interpolation{manifestDir: m.Dir}
	if exe := measured.executable(); exe != nil {
		in.executable = exe.Path
	}
	if c.names(varPython) || m.Isolation.names(varPython) {
		python, err := h.Python(ctx)
		if err != nil {
			return in, err
		}
		in.python = python.Executable
	}
	return in, nil
}

// names reports whether any string of the command holds an interpolation.
func (c Command) names(name string) bool {
	return anyContains(name, c.Argv, c.Path, slices.Collect(maps.Values(c.Set)))
}

func (iso Isolation) names(name string) bool { return anyContains(name, iso.Read, iso.Write) }

func anyContains(part string, lists ...[]string) bool {
	for _, list := range lists {
		if slices.ContainsFunc(list, func(s string) bool { return strings.Contains(s, part) }) {
			return true
		}
	}
	return false
}

// Spec turns a manifest's command into what [probe.Run] takes. When the program
// is the measured executable itself, its identity goes along, so that nothing
// else can run under its name. A failure that is not ctx's or an [*Error] is that
// of a command that can't be made on this host.
func (h *Host) Spec(ctx context.Context, m *Manifest, measured Measured, c Command) (probe.Spec, error) {
	in, err := h.interpolationFor(ctx, m, measured, c)
	if err != nil {
		return probe.Spec{}, err
	}
	argv, err := in.applyAll(c.Argv)
	if err != nil {
		return probe.Spec{}, err
	}
	path, err := in.applyAll(c.Path)
	if err != nil {
		return probe.Spec{}, err
	}
	if len(argv) == 0 {
		return probe.Spec{}, fmt.Errorf("the manifest of %s has no command for this", m.ID)
	}
	set, err := in.environment(c.Set)
	if err != nil {
		return probe.Spec{}, err
	}
	isolation, err := isolationRequest(m.Isolation, in)
	if err != nil {
		return probe.Spec{}, err
	}
	spec := probe.Spec{
		Path: argv[0], Args: argv,
		Env:           probe.Environment{Admit: c.Env, Lookup: h.options.Lookup, Set: set, Path: path},
		Limits:        probe.Limits{Wall: c.Timeout, CPU: cpuLimit(c.Timeout)},
		Isolation:     isolation,
		ScratchParent: h.options.TempDir,
	}
	if c.Stdin != "" {
		spec.Stdin = []byte(c.Stdin)
	}
	if exe := measured.executable(); exe != nil && leadsTo(argv[0], exe.Path) {
		spec.Expect = expectation(exe)
	}
	return spec, nil
}

// leadsTo reports whether a program's path is that of the measured file, perhaps
// by links.
func leadsTo(program, measured string) bool {
	if program == measured {
		return true
	}
	real, err := filepath.EvalSymlinks(program)
	return err == nil && real == measured
}

// environment prints constants as NAME=value in byte order of names.
func (in interpolation) environment(set map[string]string) ([]string, error) {
	out := make([]string, 0, len(set))
	for name, value := range set {
		text, err := in.apply(value)
		if err != nil {
			return nil, err
		}
		out = append(out, name+"="+text)
	}
	sort.Strings(out)
	return out, nil
}

func isolationRequest(iso Isolation, in interpolation) (request probe.IsolationRequest, err error) {
	request.Network = probe.NetworkDeny
	if iso.AllowNetwork {
		request.Network = probe.NetworkAllow
	}
	for _, name := range iso.Require {
		request.Require = append(request.Require, probe.Property(name))
	}
	if request.Read, err = in.applyAll(iso.Read); err != nil {
		return request, err
	}
	request.Write, err = in.applyAll(iso.Write)
	return request, err
}

func expectation(exe *digest.ExecutableResult) *probe.Expectation {
	return &probe.Expectation{
		Dev: exe.File.Dev, Ino: exe.File.Ino, Size: exe.File.Size, CtimeNS: exe.File.CtimeNS,
		Digest: exe.Digest.String(), Path: exe.Path,
	}
}

// RunProbe runs one of the manifest's probes and compares the answer with what
// is expected. A failed probe is an [*Error] with the given code and
// [ReasonProbeFailed] or [ReasonProbeUnexpected], beside the result that shows
// it; [CodeIdentityChanged] when the executable is no longer the measured one.
func (h *Host) RunProbe(ctx context.Context, m *Manifest, measured Measured, p *Probe, failure Code) (*probe.Result, error) {
	return h.runProbe(ctx, m, measured, p, failure, false)
}

// ObserveProbe is [Host.RunProbe] with the files that the run uses listed in the
// result's Observed, for [Host.Closure].
func (h *Host) ObserveProbe(ctx context.Context, m *Manifest, measured Measured, p *Probe, failure Code) (*probe.Result, error) {
	return h.runProbe(ctx, m, measured, p, failure, true)
}

func (h *Host) runProbe(ctx context.Context, m *Manifest, measured Measured, p *Probe, failure Code, observe bool) (*probe.Result, error) {
	spec, err := h.Spec(ctx, m, measured, p.Command)
	spec.ObserveFiles = observe
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		e := AsError(err, failure)
		if e.Reason == nil {
			e.Reason = ReasonProbeFailed
		}
		return nil, named(m, e)
	}
	result, err := h.options.Run(ctx, spec)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, probeSetupError(m, failure, err)
	}
	if result.Outcome == probe.Cancelled && ctx.Err() != nil {
		return result, ctx.Err()
	}
	return result, judgeProbe(m, p, spec, result, failure)
}

// named gives a failure the provider's name, on a copy.
func named(m *Manifest, e *Error) *Error {
	named := *e
	named.Provider = m.ID
	return &named
}

// judgeProbe compares a run with what was expected of it.
func judgeProbe(m *Manifest, p *Probe, spec probe.Spec, result *probe.Result, failure Code) error {
	e := &Error{Code: failure, Provider: m.ID, Path: spec.Path}
	switch result.Outcome {
	case probe.Exited:
		wrong := p.Expect.mismatch(*result.ExitCode, result.Stdout, result.Stderr)
		if wrong == "" {
			return nil
		}
		e.Reason, e.Message = ReasonProbeUnexpected, wrong
	case probe.IdentityChanged:
		e.Code, e.Reason, e.Message = CodeIdentityChanged, ReasonDigestDiffers, spec.Path+" is no longer the file that was measured"
		if result.Expectation != nil && result.Expectation.Difference != "" {
			e.Message += ": " + result.Expectation.Difference
		}
		e.Hint = hintChanged
	case probe.StartFailed:
		e.Reason, e.Message = ReasonProbeFailed, describe(result)
		if result.StartError != nil {
			e.Reason, e.Err = result.StartError.Code, result.StartError
		}
	default:
		e.Reason, e.Message = ReasonProbeFailed, describe(result)
	}
	if len(result.Withheld) > 0 {
		e.Message += "; withheld from its environment: " + strings.Join(result.Withheld, ", ")
	}
	return e
}

// describe says how a run ended, for a person.
func describe(r *probe.Result) string {
	text := r.Outcome.String()
	switch r.Outcome {
	case probe.Exited:
		text = fmt.Sprintf("exit code %d", *r.ExitCode)
	case probe.TimedOut:
		text = fmt.Sprintf("TIMED_OUT after %v", r.Wall.Round(100*time.Millisecond))
	case probe.Signaled:
		text = "ended by " + r.Signal
	case probe.StartFailed:
		if r.StartError != nil {
			text = "could not be started: " + r.StartError.Error()
		}
	}
	if len(r.Stderr) > 0 {
		text += "; stderr " + excerpt(r.Stderr)
	}
	return text
}

// probeSetupError is a run that could not even be set up: an isolation property
// that was required and can't be had, or a host that can't observe.
func probeSetupError(m *Manifest, failure Code, err error) *Error {
	e := &Error{Code: failure, Reason: ReasonProbeFailed, Provider: m.ID, Message: err.Error(), Err: err}
	if reason := probeCode(err); reason != nil {
		e.Reason = reason
	}
	if errors.Is(err, probe.CodeNotEnforceable) {
		e.Hint = "this host can't enforce what the manifest requires; see `provider-measure doctor`"
	}
	return e
}

// cpuLimit lets a command use every processor for as long as it may run: the
// manifest bounds wall time, and the default CPU limit must not end a case of
// several cores before that.
func cpuLimit(wall time.Duration) time.Duration {
	return max(5*time.Minute, wall*time.Duration(runtime.NumCPU()))
}
