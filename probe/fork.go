//go:build linux || darwin

package probe

import (
	"errors"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
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
		if j.busy != nil {
			j.busy()
		}
		time.Sleep(pause)
		pause = min(2*pause, busyMost)
	}
	if err == nil {
		j.begin()
	}
	return pid, begun, err
}

// childFiles is the child's descriptor table: its three streams, and nothing at
// every other number that this process would pass on. Go marks what it opens
// close-on-exec, but a descriptor that the host was itself given, or that a C
// library opened, is not marked, and would be inherited.
func childFiles(files [3]*os.File) []uintptr {
	const closed = ^uintptr(0)
	table := []uintptr{files[0].Fd(), files[1].Fd(), files[2].Fd()}
	for range highestInherited() - 2 {
		table = append(table, closed)
	}
	return table
}

// highestInherited is the highest descriptor of this process that a child would
// inherit, at least 2.
func highestInherited() int {
	highest := 2
	dir, err := os.Open(descriptorDir)
	if err != nil {
		return highest
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		fd, err := strconv.Atoi(name)
		if err != nil || fd <= highest {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			highest = fd
		}
	}
	return highest
}
