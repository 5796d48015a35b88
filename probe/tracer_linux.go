package probe

import (
	"errors"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// tracerEngine runs a job under ptrace.
type tracerEngine struct {
	// bare leaves the restrictions off, for the benchmark that tells what they
	// cost from what tracing does. No run of Run has it.
	bare bool
}

func (tracerEngine) name() string { return EngineTracer }

// run gives the job a thread of its own.
func (e tracerEngine) run(j *job) (*observed, error) {
	type answer struct {
		seen *observed
		err  error
	}
	answers := make(chan answer, 1)
	go onFreshThread(func() {
		t := &tracer{job: j, bare: e.bare, handleFD: -1, tasks: map[int]*task{}, early: map[int]bool{}, account: account{live: map[int]*process{}}}
		seen, err := t.run()
		if err == nil {
			// Nothing is traced any more, and this thread was never restricted.
			runtime.UnlockOSThread()
		}
		answers <- answer{seen, err}
	})
	a := <-answers
	return a.seen, a.err
}

// task is one task of the tree, a process's first or a further thread.
type task struct {
	state     traceeState
	process   *process
	announced bool     // its maker's event was seen
	call      openCall // while its state is calling
}

// tracer is one traced run. All of it but account and job.stop is used by the
// locked thread alone.
type tracer struct {
	job  *job
	bare bool
	root int
	// handleFD is the pidfd of root; it is opened by the forker and closed by run.
	handleFD int
	tasks    map[int]*task // by task number
	// early has the tasks that ended before their makers' events were seen, and
	// whether they were processes. Reports of different tasks come in no order.
	early   map[int]bool
	account account
	killing bool
	// started has the start times of all processes but root, where orphans
	// come to the host, which must then reap them; else it is nil.
	started map[int]int64
	wallAt  time.Time
	seen    observed
	alone   bool     // the signal of the forker's end was swallowed
	watch   *watcher // nil when no openings are followed
	guard   *guard   // nil when nothing is expected
	spaces  *namespaces
}

// run starts the program, follows the tree to its end and returns what was seen.
func (t *tracer) run() (*observed, error) {
	plan, err := newPlan(t.job)
	if err != nil {
		return nil, err
	}
	defer plan.close()
	plan.bare = t.bare
	t.spaces = &plan.spaces
	t.seen.isolation = plan.properties()
	t.seen.limits = tracerLimits(t.job.limits)
	defer t.unguard()
	if !t.expect() {
		return &t.seen, nil
	}
	t.watch = newWatcher(t.job, t.guard)
	plan.observe = t.watch.filter()
	started, err := t.start(newForker(t.job, plan))
	defer func() {
		t.job.stop.close()
		if t.handleFD >= 0 {
			_ = unix.Close(t.handleFD)
		}
	}()
	if err != nil || !started {
		return &t.seen, err
	}
	if adopts() {
		t.started = map[int]int64{}
	}
	sampler := sample(&t.account, t.job.limits, t.job.stop, t.guard)
	if err = resume(t.root, 0); err == nil {
		err = t.follow()
	}
	sampler.halt()
	reapOrphans(t.started)
	if err != nil {
		return nil, err
	}
	t.finish()
	return &t.seen, nil
}

// start creates the child, stopped after its exec and before its first
// instruction, and prepares it. It is false when there is nothing to follow: the
// program could not be started, or was another than expected.
func (t *tracer) start(f *forker) (started bool, err error) {
	child := <-f.started
	mine := false
	defer func() {
		// When the tracer has not got the child, the forker reaps it.
		if !mine {
			f.leave(child.pid != 0)
		}
		f.join(child.thread)
	}()
	t.root, t.wallAt, t.handleFD = child.pid, child.begun, child.handle
	if child.observe != nil {
		return false, t.abandon("start", child.observe)
	}
	if child.err != nil {
		t.seen.start = startError(t.job.path, child.err)
		return false, nil
	}
	if mine, err = t.seize(child.registers); mine {
		f.leave(false) // it ends while the rest is done
	}
	if err != nil {
		return false, t.abandon("trace", err)
	}
	if t.guard != nil {
		t.seen.expected = t.guard.compare(t.root)
		if t.seen.notMatched = !t.seen.expected.Matched; t.seen.notMatched {
			t.kill()
			return false, nil
		}
	}
	if err := t.spaces.settle(child.pid); err != nil {
		return false, t.abandon("isolate", err)
	}
	if err := t.limit(); err != nil {
		return false, t.abandon("set limits of", err)
	}
	if err := unix.Kill(t.root, unix.SIGCONT); err != nil {
		return false, t.abandon("continue", err)
	}
	pid := child.pid
	t.executed(pid)
	p := t.account.add(pid)
	p.living = 1
	t.tasks[pid] = &task{state: running, process: p, announced: true}
	// The tracer waits for tracees; what wakes it is the end of the first one.
	// The handle names that process and never another, whenever it is used.
	t.job.stop.onStop(func() { _ = unix.PidfdSendSignal(t.handleFD, unix.SIGKILL, nil, 0) })
	return true, nil
}

// seize makes this thread the tracer of the child. Only a tracee that was seized
// can be left in a group stop, so only then does job control behave as untraced;
// and only a thread that is not restricted may seize.
//
// The forker has detached the child with SIGSTOP, so that it goes from the trap
// straight into a group stop, and it is seized there. Its registers are compared
// across the change: a SIGCONT from a third party in between would let it run
// untraced, which must not pass unseen. seized is also true when a later step
// failed.
func (t *tracer) seize(before registers) (seized bool, err error) {
	if err := ptrace(unix.PTRACE_SEIZE, t.root, 0, traceOptions|t.watch.options()); err != nil {
		if errors.Is(err, unix.EPERM) {
			return false, errUnreadable
		}
		return false, err
	}
	status, err := waitOne(t.root, nil)
	if err != nil {
		return true, err
	}
	if ev := decode(status, true); ev.kind != eventGroupStop {
		return true, errSeizedAwake
	}
	after, err := readRegisters(t.root)
	if err != nil {
		return true, err
	}
	if before != after {
		return true, errSeizedAwake
	}
	return true, nil
}

// limit sets the kernel's own limits of the child, which its children inherit.
func (t *tracer) limit() error {
	l := t.job.limits
	for _, r := range []struct {
		resource int
		value    uint64
	}{
		{unix.RLIMIT_CPU, l.cpuSeconds()},
		{unix.RLIMIT_FSIZE, uint64(l.FileSize)},   //nolint:gosec // checked to be positive
		{unix.RLIMIT_NOFILE, uint64(l.OpenFiles)}, //nolint:gosec // checked to be positive
		{unix.RLIMIT_CORE, 0},
	} {
		if err := setLimit(t.root, r.resource, r.value); err != nil {
			return err
		}
	}
	return nil
}

// kill kills a child that has not run. When this thread has seized it, it waits
// for its end; else the forker does, which then is its tracer or its parent.
func (t *tracer) kill() {
	if t.root == 0 {
		return
	}
	_ = unix.Kill(t.root, unix.SIGKILL)
	for {
		status, err := waitOne(t.root, nil)
		if err != nil || decode(status, true).kind == eventEnded {
			return
		}
		_ = resume(t.root, 0)
	}
}

// abandon ends a run that cannot be observed.
func (t *tracer) abandon(op string, err error) error {
	t.kill()
	if errors.Is(err, CodeNamespace) {
		return err // nothing has run: it is the request that cannot be met
	}
	return &Error{Code: CodeObserve, Op: op, Path: t.job.path, Err: err}
}

// follow handles events until the last task of the tree is gone.
func (t *tracer) follow() error {
	var usage unix.Rusage
	for {
		tid, status, err := waitAny(&usage)
		if errors.Is(err, unix.ECHILD) {
			return nil
		}
		if err != nil {
			return &Error{Code: CodeObserve, Op: "wait for", Path: t.job.path, Err: err}
		}
		if !t.killing && t.job.stop.requested() {
			t.killAll()
		}
		if err := t.handle(tid, status, &usage); err != nil {
			return &Error{Code: CodeObserve, Op: "trace", Path: t.job.path, Err: err}
		}
	}
}

// handle acts on one event.
func (t *tracer) handle(tid int, status uint32, usage *unix.Rusage) error {
	ev := decode(status, true)
	if ev.kind == eventEnded {
		t.ended(tid, ev, usage)
		return nil
	}
	k := t.meet(tid)
	switch ev.kind {
	case eventFork:
		if child, err := eventMessage(tid); err == nil {
			t.born(k, child)
		}
	case eventExec:
		k = t.changedImage(tid, k)
	case eventExit:
		t.exiting(tid, k)
	case eventFilter:
		if !t.watch.entered(tid, k) {
			return resume(tid, 0)
		}
	case eventCall:
		t.watch.left(tid, k)
		if t.watch.difference != "" {
			t.mismatch(t.watch.difference)
		}
	case eventSignal:
		if ev.signal == parentSignal && tid == t.root && !t.alone {
			t.alone = true
			ev = event{kind: eventTrap} // the forker's end, and nobody's signal
		}
		t.seen.fileSize = t.seen.fileSize || ev.signal == unix.SIGXFSZ
	case eventGroupStop, eventTrap, eventOther, eventEnded:
	}
	state, do := k.state.next(ev)
	k.state = state
	if do.verb == verbFollow {
		return resumeCall(tid)
	}
	if do.verb == verbListen && !t.killing {
		// EIO: a SIGCONT ended the group stop in the meantime.
		if err := listen(tid); !errors.Is(err, unix.EIO) {
			return err
		}
	}
	return resume(tid, do.signal)
}

// meet returns the task tid, making it known when its first stop comes before
// its parent's event.
func (t *tracer) meet(tid int) *task {
	if k, ok := t.tasks[tid]; ok {
		return k
	}
	k := &task{state: embryo}
	t.tasks[tid] = k
	whole := isProcess(tid)
	if whole {
		k.process = t.account.add(tid)
		if t.started != nil {
			t.started[tid] = startOf(tid)
		}
	} else {
		k.process = t.processOf(tid)
	}
	k.process.living++
	t.admit()
	if whole && (t.killing || t.spaces.strayed(tid)) {
		_ = unix.Kill(tid, unix.SIGKILL)
	}
	return k
}

// processOf returns the process of a further thread. A thread that is gone
// already gets an empty one that is in no account.
func (t *tracer) processOf(tid int) *process {
	var buf [4096]byte
	text, _ := procFile(&buf, procPath(tid, "status"))
	if pid, ok := field(text, "Tgid"); ok {
		if k, ok := t.tasks[int(pid)]; ok && k.process != nil {
			return k.process
		}
	}
	return &process{}
}

// born notes that parent made the task child.
func (t *tracer) born(parent *task, child int) {
	if whole, ok := t.early[child]; ok {
		delete(t.early, child)
		parent.process.forked = parent.process.forked || whole
		return
	}
	k := t.meet(child)
	k.announced = true
	if k.process != parent.process {
		parent.process.forked = true
	}
}

// admit ends the run when there are more processes or threads than allowed. The
// one that is too many has not run yet: it is in its first stop, or not there.
func (t *tracer) admit() {
	l := t.job.limits
	t.account.mu.Lock()
	alive := len(t.account.live)
	t.account.mu.Unlock()
	if alive <= l.Processes && len(t.tasks) <= l.threads() {
		return
	}
	t.job.stop.stop(facts{processes: true})
	if !t.killing {
		t.killAll()
	}
}

// killAll sends SIGKILL to every process that is known. Each that is not known
// yet is killed when it is met: no task runs before it was met, as its first
// stop is reported here, so that nothing is created in time to escape.
func (t *tracer) killAll() {
	t.killing = true
	for tid, k := range t.tasks {
		if tid == k.process.pid {
			_ = unix.Kill(tid, unix.SIGKILL)
		}
	}
}

// changedImage handles an exec. All other threads of the process are gone or
// going; the one that called has become the process's first task, whatever it
// was before.
func (t *tracer) changedImage(tid int, k *task) *task {
	if former, err := eventMessage(tid); err == nil && former != tid {
		delete(t.tasks, former)
		k = &task{state: running, process: k.process, announced: true}
		t.tasks[tid] = k
	}
	k.process.living = 1
	t.executed(tid)
	return k
}

// exiting reads what a task leaves, while its memory is there.
func (t *tracer) exiting(tid int, k *task) {
	if k.state != exiting {
		k.process.living--
	}
	t.account.atExit(k.process, tid)
	if k.process.living <= 0 {
		t.watch.maps(tid)
		if k.process.pid == t.root && t.spaces.has(NamespacePID) && !t.killing {
			t.leftovers() // which the kernel ends before the end of process 1 is reported
		}
	}
}

// ended removes a task. When it was the program itself, every process that is
// still there is left over, and is killed.
func (t *tracer) ended(tid int, ev event, usage *unix.Rusage) {
	k, ok := t.tasks[tid]
	if !ok {
		return
	}
	delete(t.tasks, tid)
	if !k.announced {
		t.early[tid] = tid == k.process.pid
	}
	if k.state != exiting {
		k.process.living--
	}
	if tid != k.process.pid {
		return
	}
	// The end of a process's first task is reported after all its other tasks'.
	t.account.remove(k.process, usage)
	if tid != t.root {
		return
	}
	t.seen.wall = time.Since(t.wallAt)
	t.seen.exitCode, t.seen.signal = ev.code, int(ev.signal)
	t.job.stop.close()
	if !t.killing {
		t.leftovers()
		t.killAll()
	}
}

// leftovers lists the processes that are alive although the program ended.
func (t *tracer) leftovers() {
	for tid, k := range t.tasks {
		if tid == k.process.pid && !k.process.ending {
			t.seen.leftover = append(t.seen.leftover, Leftover{PID: tid, Name: processName(tid)})
		}
	}
}
