package probe

import (
	"errors"
	"runtime"

	"golang.org/x/sys/unix"
)

// onFreshThread calls f on a locked thread that is fit to be a tracer, and that
// is never unlocked, so that it ends with f and its restrictions with it.
//
// Fit is a thread that is not the leader of the thread group, because the
// leader's restrictions would be the host's own in /proc, and that has no
// children. To the kernel a child belongs to the thread that made it: a thread
// on which os/exec has once started a child would, waiting for any child, reap
// that one for the host.
//
// A thread that is not fit is held, locked and waiting, until another has taken
// f over: merely starting another goroutine may come back to it many times.
func onFreshThread(f func()) { takeThread(f, nil) }

// takeThread is onFreshThread; taken is closed when a thread has taken f.
func takeThread(f func(), taken chan<- struct{}) {
	runtime.LockOSThread()
	if fresh() {
		if taken != nil {
			close(taken)
		}
		f()
		return // still locked: the thread ends here
	}
	next := make(chan struct{})
	go takeThread(f, next)
	<-next
	runtime.UnlockOSThread()
	if taken != nil {
		close(taken)
	}
}

// fresh reports whether the calling thread, which is locked, is fit. WNOWAIT
// leaves a child that has ended to whom it belongs.
func fresh() bool {
	if unix.Gettid() == unix.Getpid() {
		return false
	}
	const any = unix.WEXITED | unix.WSTOPPED | unix.WCONTINUED
	for {
		err := unix.Waitid(unix.P_ALL, 0, nil, any|unix.WNOWAIT|unix.WNOHANG|unix.WALL|unix.WNOTHREAD, nil)
		if !errors.Is(err, unix.EINTR) {
			return errors.Is(err, unix.ECHILD)
		}
	}
}
