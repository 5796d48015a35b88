package provider

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

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

// pythonFinder reads what is outside the process through its fields only.
type pythonFinder struct {
	lookup func(string) (string, bool)
	flag   string
	run    func(context.Context, probe.Spec) (*probe.Result, error)
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
	if script {
		// A launcher, such as a version manager's shim: it knows the interpreter.
		answer, err := f.ask(ctx, exe)
		if err != nil {
			return nil, err
		}
		exe, source = answer.Executable, source+" through the launcher "+exe
	}
	p := &Python{Executable: exe, Source: source}
	decided, err := p.readLayout()
	if err != nil {
		return nil, pythonError(ReasonPythonLayout, exe, "%w", err)
	}
	if !decided {
		answer, err := f.ask(ctx, exe)
		if err != nil {
			return nil, err
		}
		p.Method, p.Version, p.Prefix = "interpreter", answer.Version, answer.Prefix
		p.Stdlib, p.Site = existing(answer.Stdlib), existing(answer.Site)
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
	exe, ok := findOnPath(f.env("PATH"), "python3")
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
			if isExecutable(filepath.Join(abs, name)) {
				return filepath.Join(abs, name), nil
			}
		}
		return "", fmt.Errorf("%s holds no bin/python3", abs)
	}
	if !isExecutable(abs) {
		return "", fmt.Errorf("%s is not an executable file", abs)
	}
	return abs, nil
}

func isExecutable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

// findOnPath looks a plain name up in a PATH. Relative entries, the empty one
// among them, are skipped: they name another file in each folder.
func findOnPath(path, name string) (string, bool) {
	for _, dir := range filepath.SplitList(path) {
		if filepath.IsAbs(dir) && isExecutable(filepath.Join(dir, name)) {
			return filepath.Join(filepath.Clean(dir), name), true
		}
	}
	return "", false
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
// so neither .pth files nor sitecustomize are executed.
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
		Path: exe, Args: []string{exe, "-I", "-S", "-B", "-c", pythonQuestion},
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
	if !isExecutable(answer.Executable) || !filepath.IsAbs(answer.Executable) {
		return nil, pythonError(ReasonPythonMissing, exe, "%s says that it is %q, which is not an executable file", exe, answer.Executable)
	}
	return &answer, nil
}

// readLayout finds the folders by reading: pyvenv.cfg (PEP 405) beside or above
// the interpreter, else the prefix with its landmark lib/pythonX.Y/os.py. It
// reports false where a distributor moved site-packages (dist-packages).
func (p *Python) readLayout() (bool, error) {
	bin := filepath.Dir(p.Executable)
	for _, dir := range []string{bin, filepath.Dir(bin)} {
		data, err := os.ReadFile(filepath.Join(dir, "pyvenv.cfg"))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return false, err
		}
		return p.readVenv(dir, parseVenvConfig(data))
	}
	return p.readPrefix()
}

// parseVenvConfig reads `key = value` lines; keys are lower-cased as site.py does.
func parseVenvConfig(data []byte) map[string]string {
	config := map[string]string{}
	for line := range strings.Lines(string(data)) {
		if key, value, ok := strings.Cut(line, "="); ok {
			config[strings.ToLower(strings.TrimSpace(key))] = strings.TrimSpace(value)
		}
	}
	return config
}

func (p *Python) readVenv(dir string, config map[string]string) (bool, error) {
	base := &Python{Executable: filepath.Join(config["home"], filepath.Base(p.Executable))}
	if real, err := filepath.EvalSymlinks(p.Executable); err == nil {
		base.Executable = real
	}
	version := config["version"]
	if version == "" {
		version = config["version_info"] // virtualenv and uv
	}
	decided, err := base.readPrefix()
	if err != nil {
		return false, err
	}
	if version == "" {
		version = base.Version
	}
	minor := minorOf(version)
	if minor == "" || (!decided && strings.EqualFold(config["include-system-site-packages"], "true")) {
		return false, nil
	}
	p.Method, p.Version, p.Prefix, p.Stdlib = "pyvenv.cfg", version, dir, base.Stdlib
	p.Site = existing([]string{
		filepath.Join(dir, "lib", "python"+minor, "site-packages"),
		filepath.Join(dir, "lib64", "python"+minor, "site-packages"),
	})
	if strings.EqualFold(config["include-system-site-packages"], "true") {
		p.Site = existing(append(p.Site, base.Site...))
	}
	return true, nil
}

func (p *Python) readPrefix() (bool, error) {
	real, err := filepath.EvalSymlinks(p.Executable)
	if err != nil {
		return false, err
	}
	prefix := filepath.Dir(filepath.Dir(real))
	landmarks, err := filepath.Glob(filepath.Join(prefix, "lib", "python3.*", "os.py"))
	if err != nil {
		return false, err
	}
	lib := ""
	for _, mark := range landmarks {
		if dir := filepath.Dir(mark); len(landmarks) == 1 || filepath.Base(dir) == filepath.Base(real) {
			lib = dir
		}
	}
	if lib == "" {
		return false, nil
	}
	p.Version = strings.TrimPrefix(filepath.Base(lib), "python")
	p.Stdlib = existing([]string{lib, filepath.Join(lib, "lib-dynload")})
	if _, err := os.Stat(filepath.Join(prefix, "lib", "python3", "dist-packages")); err == nil || prefix == "/usr" {
		return false, nil // Debian and others: only the interpreter knows its order
	}
	p.Method, p.Prefix = "layout", prefix
	p.Site = existing([]string{
		filepath.Join(lib, "site-packages"),
		filepath.Join(prefix, "lib64", filepath.Base(lib), "site-packages"),
	})
	return true, nil
}

// minorOf cuts 3.11.7 to 3.11; "" when it is no version.
func minorOf(version string) string {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 || parts[0] == "" || parts[1] == "" || strings.Trim(parts[0]+parts[1], "0123456789") != "" {
		return ""
	}
	return parts[0] + "." + parts[1]
}

// existing keeps the folders that are there, each once however it is reached
// (lib64 is often a link to lib).
func existing(dirs []string) []string {
	var out []string
	seen := map[string]bool{}
	for _, dir := range dirs {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil || seen[real] {
			continue
		}
		if info, err := os.Stat(real); err != nil || !info.IsDir() {
			continue
		}
		seen[real] = true
		out = append(out, real)
	}
	return out
}

// withPthEntries appends the folders that .pth files name, as site.py does: in
// byte order of file names, lines that begin with import or # apart.
func withPthEntries(site []string) []string {
	out := slices.Clone(site)
	for _, dir := range site {
		names, err := filepath.Glob(filepath.Join(dir, "*.pth"))
		if err != nil {
			continue
		}
		sort.Strings(names)
		for _, name := range names {
			data, err := readSmallFile(os.DirFS(dir), filepath.Base(name), 1<<20)
			if err != nil {
				continue
			}
			for line := range strings.Lines(string(data)) {
				line = strings.TrimRight(line, "\r\n \t")
				if line == "" || line[0] == '#' || strings.HasPrefix(line, "import ") || strings.HasPrefix(line, "import\t") {
					continue
				}
				if !filepath.IsAbs(line) {
					line = filepath.Join(dir, line)
				}
				out = append(out, line)
			}
		}
	}
	return existing(out)
}
