//go:build linux || darwin

package probe

import (
	"errors"
	"syscall"
	"time"
)

const (
	// A file that was just written can be held open for a moment by another
	// fork of the same host program, between its fork and its exec; executing it
	// then fails with ETXTBSY. That passes within milliseconds.
	busyRetries = 40
	busyFirst   = time.Millisecond
	busyMost    = 50 * time.Millisecond
)

// forkRetrying starts the job's child and returns when the attempt that
// succeeded was begun, so that waiting is not measured. Retries end after about
// two seconds, or when the run is stopped.
func forkRetrying(j *job, attr *syscall.ProcAttr) (pid int, begun time.Time, err error) {
	pause := busyFirst
	for range busyRetries {
		begun = time.Now()
		pid, err = syscall.ForkExec(j.path, j.argv, attr)
		if !errors.Is(err, syscall.ETXTBSY) || j.stop.requested() {
			break
		}
		time.Sleep(pause)
		pause = min(2*pause, busyMost)
	}
	if err == nil {
		j.begin()
	}
	return pid, begun, err
}
