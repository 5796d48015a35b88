package provider

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/provider-measure/provider-measure/internal/hostpath"
)

// maxPythonFile bounds pyvenv.cfg and .pth files, which have a few lines.
const maxPythonFile = 1 << 20

// layout finds the folders that exe imports from: by pyvenv.cfg (PEP 405) and
// the landmark lib/pythonX.Y/os.py of the base interpreter, and by asking the
// base where its distributor moved things.
func (f pythonFinder) layout(ctx context.Context, exe string) (*Python, error) {
	dir, config, err := venvConfig(exe)
	if err != nil {
		return nil, pythonError(ReasonPythonLayout, exe, "%w", err)
	}
	if config == nil {
		return f.base(ctx, exe, true)
	}
	system := strings.EqualFold(config["include-system-site-packages"], "true")
	base, err := f.base(ctx, baseInterpreter(exe, dir, config), system)
	if err != nil {
		return nil, err
	}
	version := config["version"]
	if version == "" {
		version = config["version_info"] // virtualenv and uv
	}
	if parts := strings.SplitN(version, ".", 4); len(parts) == 4 {
		version = strings.Join(parts[:3], ".") // virtualenv writes 3.11.7.final.0
	}
	minor := minorOf(base.Version)
	if minorOf(version) != minor {
		// The base was upgraded in place: the interpreter decides, not the note.
		version = base.Version
	}
	p := &Python{Method: "pyvenv.cfg", Version: version, Prefix: dir, Stdlib: base.Stdlib}
	p.Site = existing([]string{filepath.Join(dir, "lib", "python"+minor, "site-packages")})
	if base.Method == "interpreter" {
		// Its lib folder may be lib64, which is then searched first.
		p.Site = existing(append([]string{filepath.Join(dir, "lib64", "python"+minor, "site-packages")}, p.Site...))
	}
	if system {
		p.Site = existing(append(p.Site, base.Site...))
	}
	return p, nil
}

// venvConfig reads the pyvenv.cfg beside the interpreter or one folder up; nil
// when there is none.
func venvConfig(exe string) (dir string, config map[string]string, err error) {
	bin := filepath.Dir(exe)
	for _, dir := range []string{bin, filepath.Dir(bin)} {
		data, err := readSmallFile(os.DirFS(dir), "pyvenv.cfg", maxPythonFile)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", nil, err
		}
		return dir, parseVenvConfig(data), nil
	}
	return "", nil, nil
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

// baseInterpreter is what the environment in dir was made from: where its
// interpreter links to or, for a copy, the one in the home that was noted.
func baseInterpreter(exe, dir string, config map[string]string) string {
	real, err := filepath.EvalSymlinks(exe)
	if err != nil {
		return exe
	}
	realDir, err := filepath.EvalSymlinks(dir)
	if err != nil || !strings.HasPrefix(real, realDir+string(filepath.Separator)) {
		return real
	}
	if home := config["home"]; filepath.IsAbs(home) {
		for _, name := range []string{filepath.Base(real), "python3", "python"} {
			if candidate := filepath.Join(home, name); hostpath.Executable(candidate) {
				return candidate
			}
		}
	}
	return real
}

// base finds the folders of an interpreter that is not an environment's. It is
// run only when the files leave open what is needed; site says whether its
// site-packages are.
func (f pythonFinder) base(ctx context.Context, exe string, site bool) (*Python, error) {
	p, decided, err := readPrefix(exe)
	if err != nil {
		return nil, pythonError(ReasonPythonLayout, exe, "%w", err)
	}
	if decided || (p != nil && !site) {
		return p, nil
	}
	answer, err := f.ask(ctx, exe)
	if err != nil {
		return nil, err
	}
	return &Python{
		Method: "interpreter", Version: answer.Version, Prefix: answer.Prefix,
		Stdlib: existing(answer.Stdlib), Site: existing(answer.Site),
	}, nil
}

// readPrefix reads an installation with its landmark lib/pythonX.Y/os.py; nil
// without one, and undecided where a distributor moved site-packages. Such an
// interpreter's only lib folder is lib: the landmark is looked for in
// sys.platlibdir.
func readPrefix(exe string) (p *Python, decided bool, err error) {
	real, err := filepath.EvalSymlinks(exe)
	if err != nil {
		return nil, false, err
	}
	prefix := filepath.Dir(filepath.Dir(real))
	lib := stdlibOf(prefix, filepath.Base(real))
	if lib == "" {
		return nil, false, nil
	}
	p = &Python{
		Method: "layout", Version: strings.TrimPrefix(filepath.Base(lib), "python"), Prefix: prefix,
		Stdlib: existing([]string{lib, filepath.Join(lib, "lib-dynload")}),
	}
	if _, err := os.Stat(filepath.Join(prefix, "lib", "python3", "dist-packages")); err == nil || prefix == "/usr" {
		return p, false, nil // Debian and others: only the interpreter knows its order
	}
	p.Site = existing([]string{filepath.Join(lib, "site-packages")})
	return p, true, nil
}

// stdlibOf finds the folder with the landmark. Where there are several, that of
// the interpreter's own name is it, and none without one.
func stdlibOf(prefix, name string) string {
	entries, err := os.ReadDir(filepath.Join(prefix, "lib"))
	if err != nil {
		return ""
	}
	var found []string
	for _, e := range entries {
		dir := filepath.Join(prefix, "lib", e.Name())
		if _, err := os.Stat(filepath.Join(dir, "os.py")); err == nil && minorOf(strings.TrimPrefix(e.Name(), "python")) != "" {
			found = append(found, dir)
		}
	}
	for _, dir := range found {
		if len(found) == 1 || filepath.Base(dir) == name {
			return dir
		}
	}
	return ""
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
		if err != nil || seen[real] || !filepath.IsAbs(real) {
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

// withPthEntries puts behind each folder those that its .pth files name, as
// site.py does: in byte order of file names, lines that begin with import or #
// apart.
func withPthEntries(site []string) []string {
	var out []string
	for _, dir := range site {
		out = append(append(out, dir), pthEntries(dir)...)
	}
	return existing(out)
}

func pthEntries(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var names, out []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".pth") {
			names = append(names, e.Name())
		}
	}
	sort.Strings(names)
	for _, name := range names {
		data, err := readSmallFile(os.DirFS(dir), name, maxPythonFile)
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
	return out
}
