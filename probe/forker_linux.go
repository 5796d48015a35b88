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
// It is gone before the program's first instruction. A thread that is restricted
// as the program is may be looked into by it, and through any thread of the host
// all of the host's memory can be read (/proc/TID/environ, mem, fd); only root's
// is safe from that, by its capabilities.
//
// Should the host die before the tracer has the program, parentSignal, which the
// kernel sends to a child whose parent thread ends (PDEATHSIG), ends it. The same
// signal comes when the forker ends; then the tracer is there and swallows it.
type forker struct {
	job     *job
	plan    *plan
	started chan forked
	release chan bool // whether the child is to be reaped
	gone    chan struct{}
}

// parentSignal ends a program by default, and is used by next to none.
const parentSignal = unix.SIGPWR

// forked is a child that is stopped after its exec, or why there is none.
type forked struct {
	thread    int // the forker's
	pid       int
	handle    int // pidfd
	begun     time.Time
	registers registers // in the stop after its exec
	err       error     // of fork or exec
	observe   error     // of anything else
}

// newForker starts a forker.
func newForker(j *job, p *plan) *forker {
	f := &forker{
		job: j, plan: p, started: make(chan forked, 1), release: make(chan bool, 1), gone: make(chan struct{}),
	}
	go onFreshThread(f.run)
	return f
}

// leave lets the thread end. reap says that the child has been killed and that
// the tracer does not have it.
func (f *forker) leave(reap bool) { f.release <- reap }

// join waits until the kernel has no thread of that number.
func (f *forker) join(thread int) {
	<-f.gone
	// The goroutine has ended and the thread is on its way: yielding takes a few
	// microseconds where sleeping, on a locked thread, takes two switches more.
	for thread != 0 && !errors.Is(unix.Tgkill(unix.Getpid(), thread, 0), unix.ESRCH) {
		_, _, _ = unix.Syscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
	}
}

func (f *forker) run() {
	defer close(f.gone)
	child := f.start()
	child.thread = unix.Gettid()
	f.started <- child
	if <-f.release {
		f.reap(child.pid)
	}
}

// start restricts the thread and starts the child. It leaves it in a group stop
// without a tracer.
func (f *forker) start() forked {
	files := childFiles(f.job.files) // reads /proc, which a restricted thread may not
	if err := f.plan.spaces.enter(); err != nil {
		return forked{observe: err}
	}
	if err := f.plan.restrict(); err != nil {
		return forked{observe: err}
	}
	child := forked{handle: -1}
	attr := &syscall.ProcAttr{
		Dir: f.job.scratch, Env: f.job.env, Files: files,
		Sys: &syscall.SysProcAttr{Ptrace: true, Setsid: true, Pdeathsig: parentSignal, PidFD: &child.handle, Cloneflags: f.plan.spaces.flags()},
	}
	var pid int
	pid, child.begun, child.err = forkRetrying(f.job, attr)
	if child.err != nil {
		if errors.Is(child.err, unix.EPERM) && traceRefused() {
			child.observe = errTraceRefused
		} else if len(f.plan.spaces.asked) > 0 {
			child.observe = f.plan.spaces.try()
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
	if child.registers, child.observe = readRegisters(pid); child.observe == nil {
		child.observe = ptrace(unix.PTRACE_DETACH, pid, 0, uintptr(unix.SIGSTOP))
	}
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
