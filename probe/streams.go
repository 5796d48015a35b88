//go:build linux || darwin

package probe

import (
	"errors"
	"io"
	"os"
)

// streams are the three standard streams of one child.
type streams struct {
	child          [3]*os.File
	stdout, stderr *os.File // read ends
}

// openStreams makes the streams. Nothing of them is inherited but by the child
// that is started with streams.child.
func openStreams(stdin []byte, scratchParent string) (*streams, error) {
	s := &streams{}
	var err error
	if stdin == nil {
		s.child[0], err = os.Open(os.DevNull)
	} else {
		s.child[0], err = stdinFile(stdin, scratchParent)
	}
	if err == nil {
		s.stdout, s.child[1], err = outputPipe()
	}
	if err == nil {
		s.stderr, s.child[2], err = outputPipe()
	}
	if err != nil {
		s.close()
		return nil, &Error{Code: CodeObserve, Op: "open the standard streams", Err: err}
	}
	return s, nil
}

// closeChild closes the child's ends, which the host must not hold open.
func (s *streams) closeChild() {
	for i, file := range s.child {
		if file != nil {
			_ = file.Close()
			s.child[i] = nil
		}
	}
}

func (s *streams) close() {
	s.closeChild()
	for _, file := range []*os.File{s.stdout, s.stderr} {
		if file != nil {
			_ = file.Close()
		}
	}
}

// unlinkedFile returns a file of data, at its start, that has no name any more.
func unlinkedFile(data []byte, dir string) (*os.File, error) {
	file, err := os.CreateTemp(dir, "provider-measure-stdin-")
	if err != nil {
		return nil, err
	}
	if err := errors.Join(os.Remove(file.Name()), fillAndRewind(file, data)); err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

func fillAndRewind(file *os.File, data []byte) error {
	if _, err := file.Write(data); err != nil {
		return err
	}
	_, err := file.Seek(0, io.SeekStart)
	return err
}
