package probe

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// check refuses a Spec that could not be run as it is meant, before anything is
// made or started. It returns the limits with their defaults.
func (s *Spec) check() (Limits, error) {
	if !filepath.IsAbs(s.Path) || strings.IndexByte(s.Path, 0) >= 0 {
		return Limits{}, &Error{
			Code: CodeBadPath, Op: "check program path", Path: fmt.Sprintf("%q", cut(s.Path)),
			Err: errors.New("the path must be absolute and hold no NUL"),
		}
	}
	if s.ScratchParent != "" && (!filepath.IsAbs(s.ScratchParent) || strings.IndexByte(s.ScratchParent, 0) >= 0) {
		return Limits{}, &Error{
			Code: CodeBadPath, Op: "check scratch parent", Path: fmt.Sprintf("%q", cut(s.ScratchParent)),
			Err: errors.New("the path must be absolute and hold no NUL"),
		}
	}
	if err := checkArgs(s.Args); err != nil {
		return Limits{}, err
	}
	if s.Expect != nil {
		if err := s.Expect.check(); err != nil {
			return Limits{}, err
		}
	}
	if err := s.Isolation.check(); err != nil {
		return Limits{}, err
	}
	return s.Limits.withDefaults()
}

// checkArgs refuses an argument list that no kernel would pass on.
func checkArgs(args []string) error {
	if len(args) == 0 {
		return &Error{Code: CodeBadArgs, Op: "check arguments", Err: errors.New("the list is empty, and argv[0] is part of it")}
	}
	for i, arg := range args {
		if strings.IndexByte(arg, 0) >= 0 {
			return &Error{Code: CodeBadArgs, Op: "check arguments", Err: fmt.Errorf("argument %d holds a NUL", i)}
		}
		if len(arg)+1 > maxString {
			return &Error{
				Code: CodeArgTooLong, Op: "check arguments",
				Err: fmt.Errorf("argument %d has %d bytes, and at most %d are passed to a program", i, len(arg), maxString-1),
			}
		}
	}
	return nil
}

// expandArgs returns args with ScratchVar replaced.
func expandArgs(args []string, scratch string) ([]string, error) {
	out := make([]string, len(args))
	for i, arg := range args {
		out[i] = strings.ReplaceAll(arg, ScratchVar, scratch)
	}
	return out, checkArgs(out)
}

func (e *Expectation) check() error {
	for i := e; i != nil; i = i.Interpreter {
		if i.Ino == 0 || i.Size < 0 || (i != e && i.Interpreter != nil) {
			return &Error{
				Code: CodeBadExpectation, Op: "check expectation", Path: i.Path,
				Err: errors.New("an inode and a size are needed, and an interpreter has none of its own"),
			}
		}
	}
	return nil
}

func (r IsolationRequest) check() error {
	bad := func(path string, err error) error {
		return &Error{Code: CodeBadIsolation, Op: "check isolation", Path: path, Err: err}
	}
	if r.Network != NetworkDeny && r.Network != NetworkAllow {
		return bad("Network", fmt.Errorf("%d is no network policy", r.Network))
	}
	requirable := []Property{PropertyNetwork, PropertyWrites, PropertyProcesses, PropertyMemory, PropertyReads}
	for _, p := range r.Require {
		if !slices.Contains(requirable, p) {
			return bad("Require", fmt.Errorf("%.64q cannot be required", string(p)))
		}
	}
	if r.Network == NetworkAllow && slices.Contains(r.Require, PropertyNetwork) {
		return bad("Require", errors.New("the network is required to be denied and allowed at once"))
	}
	if len(r.Read) == 0 && slices.Contains(r.Require, PropertyReads) {
		return bad("Require", errors.New("limited reads are required, and Read lists none"))
	}
	if err := checkNamespaces(r.Namespaces); err != nil {
		return err
	}
	for _, path := range slices.Concat(r.Write, r.Read) {
		ok := filepath.IsAbs(path) || path == ScratchVar || strings.HasPrefix(path, ScratchVar+"/")
		if !ok || strings.IndexByte(path, 0) >= 0 {
			return bad(fmt.Sprintf("%q", cut(path)), errors.New("the path must be absolute and hold no NUL"))
		}
	}
	return nil
}

// cut shortens a caller's text for a message.
func cut(s string) string {
	if len(s) > 128 {
		return s[:128] + "…"
	}
	return s
}

// expandPaths returns paths with ScratchVar replaced.
func expandPaths(paths []string, scratch string) []string {
	out := make([]string, len(paths))
	for i, p := range paths {
		out[i] = strings.ReplaceAll(p, ScratchVar, scratch)
	}
	return out
}
