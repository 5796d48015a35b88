package provider

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-measure/provider-measure/internal/hostpath"
	"github.com/provider-measure/provider-measure/internal/testenv"
	"github.com/provider-measure/provider-measure/probe"
)

// prefix makes an interpreter with its landmark, as an installation has it.
func prefix(t testing.TB, minors ...string) string {
	t.Helper()
	dir := tempDir(t)
	for _, minor := range minors {
		write(t, filepath.Join(dir, "lib", "python"+minor, "os.py"), "")
		mkdirAll(t, filepath.Join(dir, "lib", "python"+minor, "lib-dynload"))
		mkdirAll(t, filepath.Join(dir, "lib", "python"+minor, "site-packages"))
		script(t, filepath.Join(dir, "bin", "python"+minor), "\x7fELF, or nearly")
	}
	if len(minors) > 0 {
		symlink(t, "python"+minors[0], filepath.Join(dir, "bin", "python3"))
	}
	return dir
}

func mkdirAll(t testing.TB, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
}

// environmentOf makes a virtual environment of a prefix by hand.
func environmentOf(t testing.TB, base, minor, config string) string {
	t.Helper()
	dir := tempDir(t)
	write(t, filepath.Join(dir, "pyvenv.cfg"), strings.ReplaceAll(config, "BASE", base))
	symlink(t, filepath.Join(base, "bin", "python3"), filepath.Join(dir, "bin", "python3"))
	mkdirAll(t, filepath.Join(dir, "lib", "python"+minor, "site-packages"))
	return dir
}

// findPython runs nothing: where a process is needed, the test fails.
func findPython(t testing.TB, options HostOptions) (*Python, error) {
	t.Helper()
	if options.Run == nil {
		options.Run = func(_ context.Context, spec probe.Spec) (*probe.Result, error) {
			t.Errorf("runs %q", spec.Args)
			return nil, os.ErrInvalid
		}
	}
	return NewHost(nil, options).Python(t.Context())
}

func TestPythonChoice(t *testing.T) {
	flag, variable, active, onPath := prefix(t, "3.11"), prefix(t, "3.11"), prefix(t, "3.11"), prefix(t, "3.11")
	exe := func(dir string) string { return filepath.Join(dir, "bin", "python3") }
	none := filepath.Join(t.TempDir(), "none")
	plain := write(t, filepath.Join(tempDir(t), "plain"), "")
	missing := func(says string) *want {
		return &want{CodeUnavailable, ReasonPythonMissing, []string{says}, "--python", ""}
	}
	all := []string{"PROVIDER_MEASURE_PYTHON", exe(variable), "VIRTUAL_ENV", active, "PATH", filepath.Join(onPath, "bin")}
	for _, tt := range []struct {
		name   string
		flag   string
		env    []string
		exe    string
		source string
		want   *want
	}{
		{"flag", exe(flag), all, exe(flag), "--python", nil},
		{"flag of a folder", flag, all, exe(flag), "--python", nil},
		{"flag of a prefix with one name", filepath.Join(flag, "bin", "python3.11"), nil, filepath.Join(flag, "bin", "python3.11"), "--python", nil},
		{"variable", "", all, exe(variable), "PROVIDER_MEASURE_PYTHON", nil},
		{"variable of a folder", "", []string{"PROVIDER_MEASURE_PYTHON", variable}, exe(variable), "PROVIDER_MEASURE_PYTHON", nil},
		{"active environment", "", all[2:], exe(active), "VIRTUAL_ENV", nil},
		{"PATH", "", all[4:], exe(onPath), "PATH", nil},
		{"PATH with relative entries", "", []string{"PATH", ":.:bin:" + filepath.Join(onPath, "bin") + "/"}, exe(onPath), "PATH", nil},
		{"empty variable", "", []string{"PROVIDER_MEASURE_PYTHON", "", "VIRTUAL_ENV", active}, exe(active), "VIRTUAL_ENV", nil},
		{"flag that is not there", none, all, "", "", missing("--python")},
		{"flag that is not executable", plain, all, "", "", missing("not an executable file")},
		{"flag of an empty folder", tempDir(t), all, "", "", missing("holds no bin/python3")},
		{"variable that is not there", "", []string{"PROVIDER_MEASURE_PYTHON", none, "PATH", filepath.Join(onPath, "bin")}, "", "", missing("PROVIDER_MEASURE_PYTHON")},
		{"environment that is gone", "", []string{"VIRTUAL_ENV", none, "PATH", filepath.Join(onPath, "bin")}, "", "", missing("VIRTUAL_ENV")},
		{"nothing", "", nil, "", "", missing("python3 is not on PATH")},
	} {
		p, err := findPython(t, HostOptions{Python: tt.flag, Lookup: environment(tt.env...)})
		if tt.want != nil {
			tt.want.check(t, err)
			continue
		}
		if err != nil || p.Executable != tt.exe || p.Source != tt.source || p.Method != "layout" {
			t.Errorf("%s: %+v, %v", tt.name, p, err)
		}
	}
}

func TestPythonLayout(t *testing.T) {
	one, two := prefix(t, "3.11"), prefix(t, "3.12", "3.11")
	site := func(dir, minor string) string { return filepath.Join(dir, "lib", "python"+minor, "site-packages") }
	std := func(dir, minor string) []string {
		lib := filepath.Join(dir, "lib", "python"+minor)
		return []string{lib, filepath.Join(lib, "lib-dynload")}
	}
	venv := environmentOf(t, one, "3.11", "home = BASE/bin\ninclude-system-site-packages = false\nversion = 3.11.7\n")
	virtualenv := environmentOf(t, one, "3.11", "home = BASE/bin\nimplementation = CPython\nversion_info = 3.11.7.final.0\ninclude-system-site-packages = false\n")
	uv := environmentOf(t, one, "3.11", "home = BASE/bin\nimplementation = CPython\nuv = 0.9.0\nversion_info = 3.11.7\ninclude-system-site-packages = false\n")
	system := environmentOf(t, one, "3.11", "Home = BASE/bin\nInclude-System-Site-Packages = TRUE\nversion = 3.11.7\n")
	upgraded := environmentOf(t, two, "3.12", "home = BASE/bin\nversion = 3.11.7\n")
	mkdirAll(t, site(upgraded, "3.11")) // left behind by the one before
	noVersion := environmentOf(t, one, "3.11", "home = BASE/bin\n")
	copied := environmentOf(t, one, "3.11", "home = BASE/bin\nversion = 3.11.7\n")
	remove(t, copied, "bin", "python3")
	script(t, filepath.Join(copied, "bin", "python3"), "\x7fELF, a copy")
	linked := environmentOf(t, one, "3.11", "home = BASE/bin\nversion = 3.11.7\n")
	symlink(t, "lib", filepath.Join(linked, "lib64"))
	brackets := filepath.Join(tempDir(t), "a[b]*")
	testenv.CopyTreeTo(t, venv, brackets)
	for _, tt := range []struct {
		name, dir string
		want      Python
	}{
		{"prefix", one, Python{Method: "layout", Version: "3.11", Prefix: one, Site: []string{site(one, "3.11")}, Stdlib: std(one, "3.11")}},
		{"two versions in one prefix", two, Python{Method: "layout", Version: "3.12", Prefix: two, Site: []string{site(two, "3.12")}, Stdlib: std(two, "3.12")}},
		{"venv", venv, Python{Method: "pyvenv.cfg", Version: "3.11.7", Prefix: venv, Site: []string{site(venv, "3.11")}, Stdlib: std(one, "3.11")}},
		{"virtualenv", virtualenv, Python{Method: "pyvenv.cfg", Version: "3.11.7", Prefix: virtualenv, Site: []string{site(virtualenv, "3.11")}, Stdlib: std(one, "3.11")}},
		{"uv", uv, Python{Method: "pyvenv.cfg", Version: "3.11.7", Prefix: uv, Site: []string{site(uv, "3.11")}, Stdlib: std(one, "3.11")}},
		{"system site-packages", system, Python{Method: "pyvenv.cfg", Version: "3.11.7", Prefix: system, Site: []string{site(system, "3.11"), site(one, "3.11")}, Stdlib: std(one, "3.11")}},
		{"base upgraded in place", upgraded, Python{Method: "pyvenv.cfg", Version: "3.12", Prefix: upgraded, Site: []string{site(upgraded, "3.12")}, Stdlib: std(two, "3.12")}},
		{"no version noted", noVersion, Python{Method: "pyvenv.cfg", Version: "3.11", Prefix: noVersion, Site: []string{site(noVersion, "3.11")}, Stdlib: std(one, "3.11")}},
		{"copied interpreter", copied, Python{Method: "pyvenv.cfg", Version: "3.11.7", Prefix: copied, Site: []string{site(copied, "3.11")}, Stdlib: std(one, "3.11")}},
		{"lib64 a link", linked, Python{Method: "pyvenv.cfg", Version: "3.11.7", Prefix: linked, Site: []string{site(linked, "3.11")}, Stdlib: std(one, "3.11")}},
		{"name of a pattern", brackets, Python{Method: "pyvenv.cfg", Version: "3.11.7", Prefix: brackets, Site: []string{site(brackets, "3.11")}, Stdlib: std(one, "3.11")}},
	} {
		got, err := findPython(t, HostOptions{Python: tt.dir})
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		tt.want.Executable, tt.want.Source = filepath.Join(tt.dir, "bin", "python3"), "--python"
		if diff := cmp.Diff(tt.want, *got); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
	for name, do := range map[string]func(dir string){
		"a folder":  func(dir string) { mkdirAll(t, filepath.Join(dir, "pyvenv.cfg")) },
		"too large": func(dir string) { write(t, filepath.Join(dir, "pyvenv.cfg"), strings.Repeat("#", maxPythonFile+1)) },
	} {
		dir := prefix(t, "3.11")
		do(dir)
		_, err := findPython(t, HostOptions{Python: dir})
		t.Log(name)
		want{CodeUnavailable, ReasonPythonLayout, []string{"pyvenv.cfg"}, "--python", ""}.check(t, err)
	}
}

func answer(t testing.TB, a pythonAnswer) string { return string(encode(t, a)) }

// with changes a copy.
func (a pythonAnswer) with(do func(*pythonAnswer)) pythonAnswer { do(&a); return a }

// Where a distributor moved things, the base interpreter is asked, and a virtual
// environment keeps its own folders in front.
func TestPythonAsksTheBase(t *testing.T) {
	base := prefix(t, "3.11")
	dist := filepath.Join(base, "lib", "python3", "dist-packages")
	mkdirAll(t, dist)
	lib := filepath.Join(base, "lib", "python3.11")
	var asked [][]string
	a := pythonAnswer{Executable: filepath.Join(base, "bin", "python3"), Version: "3.11.2", Prefix: base, Stdlib: []string{filepath.Join(base, "lib", "python311.zip"), lib}, Site: []string{filepath.Join(base, "none"), dist}}
	run := func(ctx context.Context, spec probe.Spec) (*probe.Result, error) {
		asked = append(asked, spec.Args)
		if spec.ScratchParent != "/scratch" || spec.Isolation.Network != probe.NetworkDeny || len(spec.Env.Admit) != 0 {
			t.Errorf("spec %+v", spec)
		}
		return answerRun(answer(t, a))(ctx, spec)
	}
	p, err := findPython(t, HostOptions{Python: base, Run: run, TempDir: "/scratch"})
	want := &Python{Executable: filepath.Join(base, "bin", "python3"), Source: "--python", Method: "interpreter", Version: "3.11.2", Prefix: base, Site: []string{dist}, Stdlib: []string{lib}}
	if diff := cmp.Diff(want, p); diff != "" || err != nil || len(asked) != 1 {
		t.Error(diff, err, asked)
	}
	if !cmp.Equal([]string{"-I", "-S", "-B", "-c"}, asked[0][1:5]) {
		t.Errorf("asked with %q", asked[0])
	}
	asked = nil
	own := environmentOf(t, base, "3.11", "home = BASE/bin\nversion = 3.11.2\n")
	site := filepath.Join(own, "lib", "python3.11", "site-packages")
	if p, err := findPython(t, HostOptions{Python: own, Run: run, TempDir: "/scratch"}); err != nil || len(asked) != 0 || !cmp.Equal(p.Site, []string{site}) || p.Stdlib[0] != lib {
		t.Errorf("needs no answer: %+v, %v, %v", p, err, asked)
	}
	system := environmentOf(t, base, "3.11", "home = BASE/bin\nversion = 3.11.2\ninclude-system-site-packages = true\n")
	site = filepath.Join(system, "lib", "python3.11", "site-packages")
	if p, err := findPython(t, HostOptions{Python: system, Run: run, TempDir: "/scratch"}); err != nil || !cmp.Equal(p.Site, []string{site, dist}) || p.Prefix != system || len(asked) != 1 || asked[0][0] != filepath.Join(base, "bin", "python3.11") {
		t.Errorf("with the system's: %+v, %v, %v", p, err, asked)
	}
}

func TestPythonLauncher(t *testing.T) {
	real := hostPython(t)
	dir := tempDir(t)
	script(t, filepath.Join(dir, "python3"), "#!/bin/sh\nexec "+real.Executable+" \"$@\"\n")
	p, err := NewHost(nil, HostOptions{Lookup: environment("PATH", dir), TempDir: t.TempDir()}).Python(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if exe, err := filepath.EvalSymlinks(p.Executable); err != nil || exe != real.Executable || !strings.Contains(p.Source, "PATH through the launcher "+dir) {
		t.Errorf("found %+v, want %s", p, real.Executable)
	}
	if minorOf(p.Version) != minorOf(real.Version) || p.Version == minorOf(p.Version) || len(p.Stdlib) == 0 {
		t.Errorf("version %s: %+v", p.Version, p)
	}
}

// A real environment made by Python itself answers what reading it found.
func TestPythonAgreesWithInterpreter(t *testing.T) {
	real := hostPython(t)
	for _, extra := range []string{"", "--system-site-packages"} {
		dir := filepath.Join(tempDir(t), "env")
		args := []string{real.Executable, "-I", "-m", "venv", "--without-pip"}
		if extra != "" {
			args = append(args, extra)
		}
		result, err := probe.Run(t.Context(), probe.Spec{
			Path: real.Executable, Args: append(args, dir), Isolation: probe.IsolationRequest{Write: []string{filepath.Dir(dir)}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if result.Outcome != probe.Exited || *result.ExitCode != 0 {
			testenv.Skip(t, "python", "python3 -m venv: "+describe(result))
		}
		write(t, filepath.Join(dir, "lib", "python"+minorOf(real.Version), "site-packages", "more.pth"), dir+"\n")
		p, err := NewHost(nil, HostOptions{Python: dir, TempDir: t.TempDir()}).Python(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		result, err = probe.Run(t.Context(), probe.Spec{
			Path: p.Executable, Args: []string{p.Executable, "-I", "-B", "-c", "import json, sys; print(json.dumps(sys.path))"},
		})
		if err != nil || result.Outcome != probe.Exited {
			t.Fatal(result, err)
		}
		var path []string
		if err := json.Unmarshal(result.Stdout, &path); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(existing(path), p.ModulePath()); diff != "" {
			t.Errorf("%q: sys.path of the interpreter, and what was read: %s", extra, diff)
		}
	}
}

// Debian's interpreter keeps packages in dist-packages.
func TestPythonDebian(t *testing.T) {
	const exe = "/usr/bin/python3"
	if _, err := os.Stat("/usr/lib/python3/dist-packages"); err != nil || !hostpath.Executable(exe) {
		testenv.Skip(t, "debian", "no /usr/bin/python3 with dist-packages")
	}
	p, err := NewHost(nil, HostOptions{Python: exe, TempDir: t.TempDir()}).Python(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if p.Method != "interpreter" || !strings.Contains(strings.Join(p.Site, ":"), "/usr/lib/python3/dist-packages") || p.Prefix != "/usr" {
		t.Errorf("found %+v", p)
	}
}

func TestPythonPth(t *testing.T) {
	base := prefix(t, "3.11")
	site := filepath.Join(base, "lib", "python3.11", "site-packages")
	for _, name := range []string{"one", "two", "three"} {
		mkdirAll(t, filepath.Join(site, name))
	}
	outside := tempDir(t)
	write(t, filepath.Join(site, "b.pth"), "two\r\n# comment\n\none  \nimport sys; sys.path.append('/x')\nimport\tos\n/none\nimportant\n")
	write(t, filepath.Join(site, "a.pth"), "three\n"+outside+"\n"+site+"\none\n")
	write(t, filepath.Join(site, "c.pth"), "\x00\n"+filepath.Join(site, "b.pth")+"\n")
	write(t, filepath.Join(site, "large.pth"), "two\n"+strings.Repeat("#", maxPythonFile))
	mkdirAll(t, filepath.Join(site, "d.pth"))
	mkdirAll(t, filepath.Join(site, "important"))
	p, err := findPython(t, HostOptions{Python: base})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{site, filepath.Join(site, "three"), outside, filepath.Join(site, "one"), filepath.Join(site, "two"), filepath.Join(site, "important")}
	if diff := cmp.Diff(want, p.Site); diff != "" {
		t.Error(diff)
	}
}

func TestPythonHostileAnswers(t *testing.T) {
	dir := tempDir(t)
	exe := script(t, filepath.Join(dir, "python3"), "\x7fELF without a landmark")
	good := pythonAnswer{Executable: exe, Version: "3.11.2", Prefix: dir, Stdlib: []string{dir}, Site: []string{dir}}
	for _, tt := range []struct{ name, stdout, says string }{
		{"garbage", "hello", "something else than its folders"},
		{"nothing", "", "something else than its folders"},
		{"unknown key", `{"x":1}`, "something else than its folders"},
		{"two answers", answer(t, good) + answer(t, good), "something else than its folders"},
		{"lone surrogate", `{"executable":"\udcff"}`, "something else than its folders"},
		{"no executable", answer(t, good.with(func(a *pythonAnswer) { a.Executable = "" })), "not an executable file"},
		{"relative executable", answer(t, good.with(func(a *pythonAnswer) { a.Executable = "python3" })), "not an executable file"},
		{"executable that is a folder", answer(t, good.with(func(a *pythonAnswer) { a.Executable = dir })), "not an executable file"},
		{"no version", answer(t, good.with(func(a *pythonAnswer) { a.Version = "three" })), `version is "three"`},
	} {
		_, err := findPython(t, HostOptions{Python: exe, Run: answerRun(tt.stdout)})
		want{CodeUnavailable, ReasonPythonMissing, []string{tt.says}, "--python", ""}.check(t, err)
	}
	if p, err := findPython(t, HostOptions{Python: exe, Run: answerRun(answer(t, good.with(func(a *pythonAnswer) { a.Site = []string{"relative", "/none", exe} })))}); err != nil || len(p.Site) != 0 {
		t.Errorf("folders that are none: %+v, %v", p, err)
	}
	_, err := findPython(t, HostOptions{Python: exe, Run: failRun(os.ErrPermission)})
	want{CodeUnavailable, ReasonPythonMissing, nil, "", ""}.check(t, err)
	for name, text := range map[string]string{
		"fails":       "#!/bin/sh\necho no >&2; exit 3\n",
		"is huge":     "#!/bin/sh\nwhile :; do echo 0123456789012345678901234567890123456789; done\n",
		"is not fine": "#!/bin/sh\nkill -9 $$\n",
	} {
		launcher := script(t, filepath.Join(tempDir(t), "python3"), text)
		_, err := findPython(t, HostOptions{Python: launcher, Run: probe.Run})
		t.Log(name)
		want{CodeUnavailable, ReasonPythonMissing, []string{"does not answer"}, "--python", "python3"}.check(t, err)
	}
}

func TestInterpreterRemoved(t *testing.T) {
	m := distManifest(t, "")
	site, h := distVenv(t, "good")
	dir := filepath.Join(site, "..", "..", "..")
	rt := identifyAvailable(t, h, m).Runtime
	remove(t, dir, "bin", "python3")
	want{CodeReadinessFailed, ReasonImportFailed, []string{"could not be started"}, "", ""}.check(t, h.Ready(t.Context(), nil, rt, Measured{}))
	fresh := NewHost(nil, HostOptions{Python: dir})
	w := want{CodeUnavailable, ReasonPythonMissing, []string{"bin/python3"}, "--python", ""}
	w.check(t, identify(t, fresh, m).Failure)
	w.check(t, fresh.Revalidate(t.Context(), rt))
	w.check(t, fresh.Ready(t.Context(), nil, rt, Measured{}))
}
