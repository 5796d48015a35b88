package probe

import (
	"errors"
	"os"
	"syscall"
)

// outputPipe returns the read end of a pipe, pollable, and the write end, which
// blocks as programs expect.
func outputPipe() (read, write *os.File, err error) {
	read, write, err = os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	// Only this end's open file description changes; the read end has its own.
	if err := syscall.SetNonblock(int(write.Fd()), false); err != nil {
		return nil, nil, errors.Join(err, read.Close(), write.Close())
	}
	return read, write, nil
}
