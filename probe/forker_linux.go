package probe

import (
	"errors"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// forker is the thread that starts the program. It restricts itself first, since
// what it starts inherits its restrictions, and is never used for anything else.
// The tracer is another thread, because a filter that keeps the program from
// tracing others would keep its tracer from it.
//
// It lives until the run is over: when it ends, the kernel kills the program
// (PDEATHSIG), which covers the moment in which nobody traces it.
type forker struct {
	job      *job
	plan     *plan
	started  chan forked
	detach   chan struct{}
	detached chan error
	release  chan struct{}
	gone     chan struct{}
}

// forked is a child that is stopped after its exec, or why there is none.
type forked struct {
	pid       int
	handle    int // pidfd
	begun     time.Time
	registers registers
	err       error // of fork or exec
	observe   error // of anything else
}

// newForker starts a forker.
func newForker(j *job, p *plan) *forker {
	f := &forker{
		job: j, plan: p, started: make(chan forked, 1), detach: make(chan struct{}), detached: make(chan error, 1),
		release: make(chan struct{}), gone: make(chan struct{}),
	}
	go onFreshThread(f.run)
	return f
}

// end lets the thread end and waits for it.
func (f *forker) end() {
	close(f.release)
	<-f.gone
}

// stand makes the child, which the forker traces, stand in a group stop without
// a tracer.
func (f *forker) stand() error {
	close(f.detach)
	return <-f.detached
}

func (f *forker) run() {
	defer close(f.gone)
	child := f.start()
	f.started <- child
	if child.pid == 0 {
		<-f.release
		return
	}
	select {
	case <-f.detach:
		f.detached <- ptrace(unix.PTRACE_DETACH, child.pid, 0, uintptr(unix.SIGSTOP))
		<-f.release
	case <-f.release:
	}
	f.reap(child.pid)
}

// start restricts the thread and starts the child.
func (f *forker) start() forked {
	if err := f.plan.restrict(); err != nil {
		return forked{observe: err}
	}
	child := forked{handle: -1}
	attr := &syscall.ProcAttr{
		Dir: f.job.scratch, Env: f.job.env, Files: childFiles(f.job.files),
		Sys: &syscall.SysProcAttr{Ptrace: true, Setsid: true, Pdeathsig: syscall.SIGKILL, PidFD: &child.handle},
	}
	var pid int
	pid, child.begun, child.err = forkRetrying(f.job, attr)
	if child.err != nil {
		if errors.Is(child.err, unix.EPERM) && traceRefused() {
			child.observe = errTraceRefused
		}
		return child
	}
	child.pid = pid
	status, err := waitOne(pid, nil)
	if err != nil {
		child.observe = err
		return child
	}
	if ev := decode(status, false); ev.kind != eventSignal || ev.signal != unix.SIGTRAP {
		child.observe = reason("the program did not stop after its exec")
		return child
	}
	if child.handle < 0 {
		child.observe = reason("this kernel gives no handle to a process (pidfd), which Linux 5.4 has")
		return child
	}
	child.registers, child.observe = readRegisters(pid)
	return child
}

// reap waits for the end of a child that nobody else has reaped; it has been
// killed. It returns at once for one that has been reaped.
func (f *forker) reap(pid int) {
	for {
		status, err := waitOne(pid, nil)
		if err != nil || decode(status, false).kind == eventEnded {
			return
		}
		_ = resume(pid, 0)
	}
}
