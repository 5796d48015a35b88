package provider

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/provider-measure/provider-measure/internal/hostpath"
	"github.com/provider-measure/provider-measure/internal/strictjson"
	"github.com/provider-measure/provider-measure/probe"
)

// Python is one interpreter with the folders that it imports from, found by
// reading files wherever that can decide.
type Python struct {
	Executable string   `json:"executable"`    // absolute, as it must be started: a virtual environment's link is not resolved
	Source     string   `json:"source"`        // what chose it: --python, a variable, or PATH
	Method     string   `json:"method"`        // how its folders were found: pyvenv.cfg, layout, or interpreter
	Version    string   `json:"version"`       // 3.11.7, or 3.11 where the files do not say more
	Prefix     string   `json:"prefix"`        // environment root
	Site       []string `json:"site_packages"` // existing folders in the order of sys.path, with those that .pth files add
	Stdlib     []string `json:"-"`             // standard library folders, which come before Site
}

// ModulePath is where an import looks, in order.
func (p *Python) ModulePath() []string { return append(slices.Clone(p.Stdlib), p.Site...) }

func (p *Python) clone() *Python {
	if p == nil {
		return nil
	}
	c := *p
	c.Site, c.Stdlib = slices.Clone(p.Site), slices.Clone(p.Stdlib)
	return &c
}

// pythonFinder reads what is outside the process through its fields only.
type pythonFinder struct {
	lookup  func(string) (string, bool)
	flag    string
	run     func(context.Context, probe.Spec) (*probe.Result, error)
	scratch string
}

// find chooses the interpreter: --python, $PROVIDER_MEASURE_PYTHON,
// $VIRTUAL_ENV, then python3 on PATH. The first that is set decides; a broken
// choice is an error and not a reason to try the next.
func (f pythonFinder) find(ctx context.Context) (*Python, error) {
	exe, source, err := f.choose()
	if err != nil {
		return nil, err
	}
	script, err := isScript(exe)
	if err != nil {
		return nil, pythonError(ReasonPythonMissing, exe, "%s: %w", source, err)
	}
	version := ""
	if script {
		// A launcher, such as a version manager's shim: it knows the interpreter.
		answer, err := f.ask(ctx, exe)
		if err != nil {
			return nil, err
		}
		exe, source, version = answer.Executable, source+" through the launcher "+exe, answer.Version
	}
	if !utf8.ValidString(exe) || !norm.NFC.IsNormalString(exe) {
		return nil, pythonError(ReasonPathUnrepresentable, exe, "%s: the path %+q is not UTF-8 in NFC, so that no record can name it", source, exe)
	}
	p, err := f.layout(ctx, exe)
	if err != nil {
		return nil, err
	}
	p.Executable, p.Source = exe, source
	if p.Version == minorOf(version) {
		p.Version = version // the landmark alone does not tell the last part
	}
	p.Site = withPthEntries(p.Site)
	return p, nil
}

func pythonError(reason Reason, path, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{
		Code: CodeUnavailable, Reason: reason, Path: path, Message: "no usable Python interpreter: " + err.Error(), Err: err,
		Hint: "name an interpreter or a virtual environment with --python or PROVIDER_MEASURE_PYTHON",
	}
}

func (f pythonFinder) choose() (exe, source string, err error) {
	for _, c := range []struct{ source, value string }{
		{"--python", f.flag},
		{"PROVIDER_MEASURE_PYTHON", f.env("PROVIDER_MEASURE_PYTHON")},
		{"VIRTUAL_ENV", f.env("VIRTUAL_ENV")},
	} {
		if c.value == "" {
			continue
		}
		exe, err := interpreterAt(c.value)
		if err != nil {
			return "", "", pythonError(ReasonPythonMissing, c.value, "%s: %w", c.source, err)
		}
		return exe, c.source, nil
	}
	exe, ok := hostpath.Find(f.env("PATH"), "python3")
	if !ok {
		return "", "", pythonError(ReasonPythonMissing, "", "python3 is not on PATH")
	}
	return exe, "PATH", nil
}

func (f pythonFinder) env(name string) string {
	value, _ := f.lookup(name)
	return value
}

// interpreterAt accepts an interpreter or the folder of an environment.
func interpreterAt(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(abs)
	if err != nil {
		return "", err
	}
	if info.IsDir() {
		for _, name := range []string{"bin/python3", "bin/python"} {
			if hostpath.Executable(filepath.Join(abs, name)) {
				return filepath.Join(abs, name), nil
			}
		}
		return "", fmt.Errorf("%s holds no bin/python3", abs)
	}
	if !hostpath.Executable(abs) {
		return "", fmt.Errorf("%s is not an executable file", abs)
	}
	return abs, nil
}

func isScript(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	head := make([]byte, 2)
	n, _ := f.Read(head)
	return string(head[:n]) == "#!", nil
}

// pythonQuestion prints where an interpreter imports from. It runs without site,
// so neither .pth files nor sitecustomize are executed. Without site a virtual
// environment answers for its base, so only that is ever asked for folders.
const pythonQuestion = `
import json, sys, sysconfig, site
print(json.dumps({"executable": sys.executable, "version": ".".join(map(str, sys.version_info[:3])),
    "prefix": sys.prefix, "stdlib": [p for p in sys.path if p], "site": site.getsitepackages()}))`

type pythonAnswer struct {
	Executable string   `json:"executable"`
	Version    string   `json:"version"`
	Prefix     string   `json:"prefix"`
	Stdlib     []string `json:"stdlib"`
	Site       []string `json:"site"`
}

// ask runs the interpreter once, where reading files can't decide.
func (f pythonFinder) ask(ctx context.Context, exe string) (*pythonAnswer, error) {
	result, err := f.run(ctx, probe.Spec{
		Path: exe, Args: []string{exe, "-I", "-S", "-B", "-c", pythonQuestion}, ScratchParent: f.scratch,
		Limits: probe.Limits{Wall: 30 * time.Second, Stdout: 1 << 20, Stderr: 64 << 10},
	})
	if err != nil {
		return nil, pythonError(ReasonPythonMissing, exe, "%w", err)
	}
	if result.Outcome != probe.Exited || *result.ExitCode != 0 {
		return nil, pythonError(ReasonPythonMissing, exe, "%s does not answer: %s", exe, describe(result))
	}
	var answer pythonAnswer
	if err := strictjson.Decode(result.Stdout, &answer); err != nil {
		return nil, pythonError(ReasonPythonMissing, exe, "%s answers with something else than its folders: %w", exe, err)
	}
	if !hostpath.Executable(answer.Executable) || !filepath.IsAbs(answer.Executable) {
		return nil, pythonError(ReasonPythonMissing, exe, "%s says that it is %q, which is not an executable file", exe, answer.Executable)
	}
	if minorOf(answer.Version) == "" {
		return nil, pythonError(ReasonPythonMissing, exe, "%s says that its version is %q", exe, answer.Version)
	}
	return &answer, nil
}
