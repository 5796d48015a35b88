package probe

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sort"
	"strings"
)

// maxString is the longest argument or NAME=value that Linux passes to a new
// program, its final NUL included (MAX_ARG_STRLEN, 32 pages of 4096 bytes). The
// kernel's own refusal, E2BIG, would not say which one it was.
const maxString = 32 * 4096

// environment is a composed child environment.
type environment struct {
	list     []string // NAME=value, sorted by name
	names    []string // sorted
	withheld []string // sorted, unique
}

// compose builds the whole environment of a child from nothing: the fixed
// variables, what e admits and the host has, e.Set, and PATH.
func (e Environment) compose(scratch string) (environment, error) {
	vars := map[string]string{
		"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1", "TZ": "UTC",
		"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "HOME": scratch, "TMPDIR": scratch,
	}
	var withheld []string
	for _, name := range e.Admit {
		if err := checkName(name); err != nil {
			return environment{}, err
		}
		if e.Lookup == nil {
			continue
		}
		value, set := e.Lookup(name)
		switch {
		case !set:
		case WithheldName(name):
			withheld = append(withheld, name)
		default:
			vars[name] = value
		}
	}
	if err := e.constants(vars, scratch); err != nil {
		return environment{}, err
	}
	if err := e.searchPath(vars, scratch); err != nil {
		return environment{}, err
	}
	sort.Strings(withheld)
	env := environment{withheld: slices.Compact(withheld)}
	for name := range vars {
		env.names = append(env.names, name)
	}
	sort.Strings(env.names)
	for _, name := range env.names {
		entry := name + "=" + vars[name]
		if err := checkEntry(name, entry); err != nil {
			return environment{}, err
		}
		env.list = append(env.list, entry)
	}
	return env, nil
}

// constants puts e.Set into vars. A name that is set twice is refused, because
// programs differ in which one they see.
func (e Environment) constants(vars map[string]string, scratch string) error {
	seen := make(map[string]bool, len(e.Set))
	for _, entry := range e.Set {
		name, value, ok := strings.Cut(entry, "=")
		if !ok {
			return envError(CodeBadEnv, clip(entry), errors.New("an entry needs the form NAME=value"))
		}
		if err := checkName(name); err != nil {
			return err
		}
		if seen[name] {
			return envError(CodeBadEnv, name, errors.New("the variable is set twice"))
		}
		seen[name] = true
		vars[name] = strings.ReplaceAll(value, ScratchVar, scratch)
	}
	return nil
}

// searchPath puts PATH into vars when e.Path is not empty.
func (e Environment) searchPath(vars map[string]string, scratch string) error {
	if len(e.Path) == 0 {
		return nil
	}
	dirs := make([]string, len(e.Path))
	for i, dir := range e.Path {
		dirs[i] = strings.ReplaceAll(dir, ScratchVar, scratch)
		if !filepath.IsAbs(dirs[i]) || strings.ContainsAny(dirs[i], ":\x00") {
			return &Error{
				Code: CodeBadSearchPath, Op: "compose PATH from", Path: clip(dir),
				Err: errors.New("an entry must be an absolute path without ':' and NUL"),
			}
		}
	}
	vars["PATH"] = strings.Join(dirs, ":")
	return nil
}

// checkName refuses a variable name that is empty or holds '=' or NUL.
func checkName(name string) error {
	if name == "" || strings.ContainsAny(name, "=\x00") {
		return envError(CodeBadEnv, clip(name), errors.New("a variable's name may not be empty or hold '=' or NUL"))
	}
	return nil
}

// checkEntry refuses a composed entry that the kernel could not pass on. The
// value is never part of the message.
func checkEntry(name, entry string) error {
	if strings.IndexByte(entry, 0) >= 0 {
		return envError(CodeBadEnv, clip(name), errors.New("the value holds a NUL"))
	}
	if len(entry)+1 > maxString {
		return envError(CodeEnvTooLong, clip(name),
			fmt.Errorf("NAME=value has %d bytes, and at most %d are passed to a program", len(entry), maxString-1))
	}
	return nil
}

func envError(code Code, name string, err error) error {
	return &Error{Code: code, Op: "compose environment variable", Path: name, Err: err}
}

// clip makes a caller's text fit for a message: cut, at a name's end when it
// has one so that no value is shown, and quoted when it is not plain.
func clip(s string) string {
	s, _, _ = strings.Cut(s, "=")
	if len(s) > 64 {
		s = s[:64]
	}
	if q := fmt.Sprintf("%q", s); q != `"`+s+`"` || s == "" {
		return q
	}
	return s
}
