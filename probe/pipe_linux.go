package probe

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// outputPipe returns the read end of a pipe, pollable, and the write end, which
// blocks as programs expect. They are made here and not by os.Pipe, which makes
// both ends pollable: undoing that took more than the pipe.
func outputPipe() (read, write *os.File, err error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, os.NewSyscallError("pipe2", err)
	}
	// Only this end's open file description changes; the write end has its own.
	if err := unix.SetNonblock(fds[0], true); err != nil {
		return nil, nil, errors.Join(err, unix.Close(fds[0]), unix.Close(fds[1]))
	}
	return os.NewFile(uintptr(fds[0]), "|0"), os.NewFile(uintptr(fds[1]), "|1"), nil //nolint:gosec // descriptors
}
