//go:build linux || darwin

package probe

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// startError explains why the kernel refused to execute path. It never tries a
// shell: bytes that no interpreter claims are not a program.
func startError(path string, cause error) *StartError {
	s := &StartError{Code: CodeStartOther, Path: path, Err: cause}
	var errno syscall.Errno
	if !errors.As(cause, &errno) {
		s.Message = fmt.Sprintf("%s could not be started: %v", path, cause)
		return s
	}
	info, statErr := os.Stat(path)
	switch errno {
	case syscall.ENOENT, syscall.ENOTDIR:
		s.missing(statErr)
	case syscall.EACCES, syscall.EPERM:
		s.refused(info, statErr, errno)
	case syscall.ENOEXEC:
		s.Code = CodeStartFormat
		s.Message = path + ` is no executable format of this host and has no "#!" line; it is not given to a shell`
		if name := interpreterOf(path); name != "" {
			s.Interpreter = name
			s.Message = fmt.Sprintf("%s is not for this host's processor, or its interpreter %q is unusable", path, name)
		}
	case syscall.ETXTBSY:
		s.Code = CodeStartBusy
		s.Message = path + " is open for writing, still after retries"
	case syscall.E2BIG:
		s.Code = CodeStartTooBig
		s.Message = "the arguments and the environment together are more than this host passes to a program"
	case syscall.EAGAIN, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE:
		s.Code = CodeStartResources
		s.Message = fmt.Sprintf("this host has no resources left for a process: %v", errno)
	case syscall.ELOOP:
		s.Message = fmt.Sprintf("%s: too many links or interpreters on the way", path)
	default:
		s.Message = fmt.Sprintf("%s could not be started: %v", path, errno)
	}
	return s
}

// missing tells a missing file from a missing interpreter.
func (s *StartError) missing(statErr error) {
	if statErr != nil {
		s.Code = CodeStartMissing
		s.Message = s.Path + " does not exist"
		return
	}
	s.Code = CodeStartInterpreter
	s.Interpreter = interpreterOf(s.Path)
	s.Message = fmt.Sprintf("%s names the interpreter %q, which does not exist", s.Path, s.Interpreter)
}

// refused tells the reasons of EACCES apart.
func (s *StartError) refused(info fs.FileInfo, statErr error, errno syscall.Errno) {
	switch {
	case statErr != nil:
		s.Code = CodeStartPermission
		s.Message = fmt.Sprintf("%s cannot be reached: %v", s.Path, errno)
	case info.IsDir():
		s.Code = CodeStartDirectory
		s.Message = s.Path + " is a directory"
	case !info.Mode().IsRegular():
		s.Code = CodeStartNotRegular
		s.Message = s.Path + " is not a regular file"
	case info.Mode().Perm()&0o111 == 0:
		s.Code = CodeStartPermission
		s.Message = s.Path + " has no execute permission"
	default:
		s.Code = CodeStartPermission
		s.Message = fmt.Sprintf("%s may not be executed: %v", s.Path, errno)
		if name := interpreterOf(s.Path); name != "" {
			if in, err := os.Stat(name); err != nil || !in.Mode().IsRegular() || in.Mode().Perm()&0o111 == 0 {
				s.Code = CodeStartInterpreter
				s.Interpreter = name
				s.Message = fmt.Sprintf("%s names the interpreter %q, which is not an executable file", s.Path, name)
			}
		}
	}
}
