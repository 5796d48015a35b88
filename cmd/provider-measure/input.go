package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"syscall"
)

// maxInput bounds what is read from a file that was named, or from standard
// input.
const maxInput = 10 << 20

// readInput reads a regular file, or standard input for -. It ends with ctx,
// though a terminal or pipe may never say anything.
func (s *session) readInput(ctx context.Context, path string) ([]byte, error) {
	in := s.stdin
	if path != "-" {
		// Without O_NONBLOCK a FIFO would be waited for.
		f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			return nil, inputError(path, err)
		}
		defer f.Close()
		if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
			return nil, inputError(path, fmt.Errorf("%s is not a regular file", path))
		}
		in = f
	}
	type answer struct {
		data []byte
		err  error
	}
	read := make(chan answer, 1)
	go func() {
		data, err := io.ReadAll(io.LimitReader(in, maxInput+1))
		read <- answer{data, err}
	}()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case a := <-read:
		if a.err == nil && len(a.data) > maxInput {
			a.err = fmt.Errorf("%s is larger than %d bytes", path, maxInput)
		}
		if a.err != nil {
			return nil, inputError(path, a.err)
		}
		return a.data, nil
	}
}

func inputError(path string, err error) error {
	return &commandError{Code: codeUsage, Message: err.Error(), Path: path, exit: exitUsage, err: err}
}
