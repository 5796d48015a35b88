package measure

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/provider-measure/provider-measure/internal/testenv"
	"github.com/provider-measure/provider-measure/probe"
	"github.com/provider-measure/provider-measure/provider"
)

// wheel builds a wheel of demo-wheel whose file name and metadata say version.
func wheel(t testing.TB, version string) (name string, data []byte) {
	t.Helper()
	info := "demo_wheel-" + version + ".dist-info/"
	files := []struct{ path, text string }{
		{"demo_wheel/__init__.py", strings.Repeat("# a line of the demo\n", 500)},
		{info + "METADATA", "Metadata-Version: 2.1\nName: demo-wheel\nVersion: " + version + "\n"},
		{info + "WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"},
	}
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	record := ""
	add := func(path, text string) {
		w, err := z.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range files {
		add(f.path, f.text)
		sum := sha256.Sum256([]byte(f.text))
		record += fmt.Sprintf("%s,sha256=%s,%d\n", f.path, base64.RawURLEncoding.EncodeToString(sum[:]), len(f.text))
	}
	add(info+"RECORD", record+info+"RECORD,,\n")
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return "demo_wheel-" + version + "-py3-none-any.whl", out.Bytes()
}

// index serves wheels of demo-wheel as PEP 503 says and returns its URL.
func index(t testing.TB, versions ...string) string {
	t.Helper()
	mux := http.NewServeMux()
	page := "<!DOCTYPE html><html><body>"
	for _, v := range versions {
		name, data := wheel(t, v)
		page += fmt.Sprintf(`<a href="/files/%s#sha256=%x">%s</a>`, name, sha256.Sum256(data), name)
		mux.HandleFunc("/files/"+name, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(data) })
	}
	mux.HandleFunc("/simple/demo-wheel/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(page + "</body></html>"))
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL + "/simple"
}

// uv finds the uv that scripts/providers prepares, or the host's.
func uv(t testing.TB) string {
	t.Helper()
	dirs := append([]string{filepath.Join(testenv.RepoRoot(t), ".providers", "bin")}, filepath.SplitList(os.Getenv("PATH"))...)
	for _, dir := range dirs {
		if info, err := os.Stat(filepath.Join(dir, "uv")); err == nil && info.Mode().IsRegular() {
			return dir
		}
	}
	testenv.Skip(t, "uv", "uv is neither prepared nor on PATH")
	return ""
}

// installed measures with a cold install of the given tables.
func installed(t testing.TB, x *tool, tables string) *Record {
	t.Helper()
	x.manifest(t, "tool", strings.ReplaceAll(toolManifest, "{tool}", x.exe)+tables+capabilityTable)
	r := measured(t, x.python(t, nil), Options{ColdInstall: true})
	x.nothingLeft(t)
	return r
}

func checkInstalled(t testing.TB, r *Record, installer string) {
	t.Helper()
	in := r.ColdInstall
	if in.Status != Completed || in.Detail != nil {
		t.Fatalf("status %s, detail %s", in.Status, show(in.Detail))
	}
	if !strings.HasPrefix(*in.Installer, installer+" ") || *in.Seconds <= 0 || *in.InstalledBytes < 21*500 || *in.InstalledBytes > 21*500+4096 {
		t.Errorf("installer %q, %v seconds, %d bytes", *in.Installer, *in.Seconds, *in.InstalledBytes)
	}
}

const demoWheel = "[install]\nmethod = \"python\"\npackage = \"Demo_Wheel\"\nversion = \"1.0\"\ntimeout_secs = 120\n"

func TestInstallUV(t *testing.T) {
	x := newTool(t)
	x.env["PATH"] = uv(t)
	x.env["VENV"], _ = venv(t)
	x.env["UV_DEFAULT_INDEX"] = index(t, "1.0", "2.0")
	// What would point elsewhere must not arrive.
	x.env["UV_CACHE_DIR"], x.env["UV_FIND_LINKS"], x.env["UV_TARGET"] = "/nowhere", "/nowhere", "/nowhere"
	checkInstalled(t, installed(t, x, demoWheel), "uv")
}

func TestInstallPip(t *testing.T) {
	x := newTool(t)
	x.env["VENV"], _ = venv(t)
	x.env["PIP_INDEX_URL"] = index(t, "1.0", "2.0")
	x.env["PIP_TARGET"], x.env["PIP_CONFIG_FILE"], x.env["PIP_NO_INDEX"] = "/nowhere", "/nowhere", "1"
	r := installed(t, x, demoWheel)
	if r.ColdInstall.Status == Skipped {
		testenv.Skip(t, "pip", *r.ColdInstall.Detail)
	}
	checkInstalled(t, r, "pip")
}

// uv that does not answer is passed over, and the record says what installed.
func TestInstallFallsBack(t *testing.T) {
	x := newTool(t)
	x.env["VENV"], _ = venv(t)
	x.env["PIP_INDEX_URL"] = index(t, "1.0")
	x.env["PATH"] = filepath.Dir(write(t, filepath.Join(x.dir, "broken", "uv"), "#!/bin/sh\nexit 1\n", 0o755))
	r := installed(t, x, demoWheel)
	if r.ColdInstall.Status == Skipped {
		fails(t, r.ColdInstall.Status, r.ColdInstall.Detail, Skipped, CodeInstallerMissing, "uv does not answer", "pip does not answer")
		testenv.Skip(t, "pip", *r.ColdInstall.Detail)
	}
	checkInstalled(t, r, "pip")
}

func TestInstallFailures(t *testing.T) {
	for _, tt := range []struct {
		name   string
		tables string
		index  func(t *testing.T) string
		code   Code
		says   string
	}{
		{"wrong version", strings.Replace(demoWheel, `"1.0"`, `"9.9"`, 1), func(t *testing.T) string { return index(t, "1.0") }, CodeInstallFailed, "9.9"},
		{"unknown package", strings.Replace(demoWheel, "Demo_Wheel", "other", 1), func(t *testing.T) string { return index(t, "1.0") }, CodeInstallFailed, "other"},
		{"another version", demoWheel, func(t *testing.T) string { return index(t, "1.0+local.1") }, CodeInstallMismatch, "1.0+local.1 was installed, 1.0 was asked for"},
		{"refused", demoWheel + "env = [\"UV_HTTP_RETRIES\"]\n", func(*testing.T) string { return "http://user:word@127.0.0.1:9/simple" }, CodeNetworkUnreachable, "efused"},
	} {
		for _, with := range []string{"uv", "pip"} {
			t.Run(tt.name+" with "+with, func(t *testing.T) {
				x := newTool(t)
				x.env["VENV"], _ = venv(t)
				url := tt.index(t)
				x.env["UV_DEFAULT_INDEX"], x.env["PIP_INDEX_URL"], x.env["UV_HTTP_RETRIES"] = url, url, "0"
				if with == "uv" {
					x.env["PATH"] = uv(t)
				}
				r := installed(t, x, tt.tables)
				if r.ColdInstall.Status == Skipped {
					testenv.Skip(t, "pip", *r.ColdInstall.Detail)
				}
				fails(t, r.ColdInstall.Status, r.ColdInstall.Detail, Failed, tt.code, tt.says)
				if r.ColdInstall.Installer == nil || !strings.HasPrefix(*r.ColdInstall.Installer, with+" ") {
					t.Errorf("installer %s", show(r.ColdInstall.Installer))
				}
				if strings.Contains(*r.ColdInstall.Detail, "user:word") || strings.Contains(*r.ColdInstall.Detail, x.scratch) {
					t.Errorf("detail tells a password or a private path: %q", *r.ColdInstall.Detail)
				}
			})
		}
	}
}

func TestInstallSkipped(t *testing.T) {
	for _, tt := range []struct {
		name, tables string
		ask          bool
		code         Code
		says         string
	}{
		{"not asked for", demoWheel, false, CodeNotAskedFor, "not asked for"},
		{"not declared", "", true, CodeNotDeclared, "[install]"},
		{"no python", demoWheel, true, CodeInstallerMissing, "no usable Python"},
		{"no npm", "[install]\nmethod = \"npm\"\npackage = \"left\"\n", true, CodeInstallerMissing, "npm is not on PATH"},
		{"no go", "[install]\nmethod = \"go\"\npackage = \"m.example/x\"\n", true, CodeInstallerMissing, "go is not on PATH"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x := newTool(t)
			ran := 0
			r := measured(t, x.host(t, tt.tables, nil), Options{ColdInstall: tt.ask, Run: func(ctx context.Context, spec probe.Spec) (*probe.Result, error) {
				ran++
				return probe.Run(ctx, spec)
			}})
			fails(t, r.ColdInstall.Status, r.ColdInstall.Detail, Skipped, tt.code, tt.says)
			if ran != 0 || !r.Good() {
				t.Errorf("%d runs, good %v", ran, r.Good())
			}
		})
	}
}

const commandInstall = "[install]\nmethod = \"command\"\nargv = [\"${executable}\", \"install\", \"${scratch}\"]\n"

func TestInstallCommand(t *testing.T) {
	x := newTool(t)
	x.manifest(t, "tool", strings.ReplaceAll(toolManifest, "{tool}", x.exe)+commandInstall+"env = [\"MY_TOKEN\", \"COLOUR\"]\n"+capabilityTable)
	x.env["MY_TOKEN"], x.env["COLOUR"] = "hunter2", "red"
	var spec probe.Spec
	h := provider.NewHost(x.set(t), provider.HostOptions{Lookup: x.lookup, TempDir: x.scratch})
	r := measured(t, h, Options{ColdInstall: true, Run: func(ctx context.Context, s probe.Spec) (*probe.Result, error) {
		spec = s
		return probe.Run(ctx, s)
	}})
	in := r.ColdInstall
	// Both names of one file, and a link to a folder full of others, are 6 bytes.
	if in.Status != Completed || *in.InstalledBytes != 6 || *in.Installer != "command tool" {
		t.Fatalf("%s, %d bytes, %q, detail %s", in.Status, *in.InstalledBytes, *in.Installer, show(in.Detail))
	}
	if in.Detail == nil || !strings.Contains(*in.Detail, "MY_TOKEN") || strings.Contains(*in.Detail, "hunter2") || strings.Contains(*in.Detail, "COLOUR") {
		t.Errorf("detail %s must name what was withheld", show(in.Detail))
	}
	if spec.Isolation.Network != probe.NetworkAllow || spec.Limits.Wall != 600*time.Second || spec.Limits.Memory != installMemory || spec.Expect == nil {
		t.Errorf("spec %+v", spec)
	}
	x.nothingLeft(t)
}

// Only this run may use the network, and a manifest that requires its denial
// does not stop it.
func TestInstallIsolation(t *testing.T) {
	got := installIsolation(provider.Isolation{Require: []string{"network", "writes"}, Write: []string{"/var"}, Read: []string{"/opt"}})
	if got.Network != probe.NetworkAllow || !slices.Equal(got.Require, []probe.Property{probe.PropertyWrites}) || got.Write != nil || got.Read != nil {
		t.Errorf("%+v", got)
	}
}

func TestInstallOutcomes(t *testing.T) {
	for _, tt := range []struct {
		name   string
		result probe.Result
		err    error
		code   error
		says   string
	}{
		{"time-out", probe.Result{Outcome: probe.TimedOut, Stderr: []byte("error: x\n")}, nil, CodeInstallStopped, "TIMED_OUT"},
		{"time-out of the network", probe.Result{Outcome: probe.TimedOut, Stderr: []byte("curl: Connection refused\n")}, nil, CodeInstallStopped, "the network may be the cause"},
		{"memory", probe.Result{Outcome: probe.MemoryLimitExceeded}, nil, CodeInstallStopped, "MEMORY_LIMIT_EXCEEDED"},
		{"signal", probe.Result{Outcome: probe.Signaled, Signal: "SIGSEGV"}, nil, CodeInstallFailed, "SIGSEGV"},
		{"not started", probe.Result{Outcome: probe.StartFailed, StartError: &probe.StartError{Code: probe.CodeStartMissing, Message: "not there"}}, nil, CodeInstallFailed, "not there"},
		{"exit code", probe.Result{Outcome: probe.Exited, ExitCode: ptr(4), Stdout: []byte("no room\n")}, nil, CodeInstallFailed, "exit code 4; no room"},
		{"withheld", probe.Result{Outcome: probe.Exited, ExitCode: ptr(4), Withheld: []string{"A_TOKEN"}, Stderr: []byte(strings.Repeat("x", 2000))}, nil, CodeInstallFailed, "A_TOKEN"},
		{"nothing there", probe.Result{Outcome: probe.Exited, ExitCode: ptr(0), Wall: 1e9}, nil, CodeNotMeasured, "nothing was installed"},
		{"not set up", probe.Result{}, &probe.Error{Code: probe.CodeScratch, Op: "remove"}, probe.CodeScratch, "remove"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x := newTool(t)
			r := measured(t, x.host(t, commandInstall, nil), Options{ColdInstall: true, Run: func(_ context.Context, spec probe.Spec) (*probe.Result, error) {
				if tt.err != nil {
					return nil, tt.err
				}
				if err := spec.Inspect(t.TempDir(), &tt.result); err != nil {
					t.Error(err)
				}
				return &tt.result, nil
			}})
			fails(t, r.ColdInstall.Status, r.ColdInstall.Detail, Failed, tt.code, tt.says)
			if r.Good() {
				t.Error("a failed install is not good")
			}
		})
	}
}

func TestInstallCancelled(t *testing.T) {
	x := newTool(t)
	h := x.host(t, strings.Replace(commandInstall, `"install"`, `"hang"`, 1), nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last Event
	r, err := Measure(ctx, h, "sat.solve", Options{ColdInstall: true, Progress: func(e Event) {
		last = e
		if e.Stage == StageColdInstall {
			time.AfterFunc(300*time.Millisecond, cancel)
		}
	}})
	if r != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("record %v, error %v", r, err)
	}
	if last.Stage != StageColdInstall || last.Done != 0 {
		t.Errorf("went on to %+v", last)
	}
	x.nothingLeft(t)
}

// only is the one manifest of a tool's host.
func only(t testing.TB, x *tool) *provider.Manifest {
	t.Helper()
	all := x.set(t).Manifests()
	if len(all) != 1 {
		t.Fatalf("%d manifests", len(all))
	}
	return all[0]
}

// Whatever an installer keeps, it keeps in the scratch directory, and no file of
// the host configures it.
func TestInstallersKeepToThemselves(t *testing.T) {
	x := newTool(t)
	x.env["VENV"], _ = venv(t)
	bin := filepath.Join(x.dir, "all")
	for _, name := range []string{"uv", "npm", "node", "go"} {
		write(t, filepath.Join(bin, name), "#!/bin/sh\nexit 1\n", 0o755)
	}
	x.env["PATH"] = "relative:" + bin
	x.manifest(t, "tool", strings.ReplaceAll(toolManifest, "{tool}", x.exe))
	m := &measurement{host: x.python(t, nil), manifest: only(t, x)}
	for _, tt := range []struct {
		method provider.InstallMethod
		want   map[string][]string // installer to what it must be given
	}{
		{provider.InstallPython, map[string][]string{
			"uv":  {"UV_CACHE_DIR=${scratch}/cache", "XDG_CONFIG_HOME=${scratch}/config", "--no-config", "--link-mode copy", "--no-deps", "UV_PYTHON_DOWNLOADS=never"},
			"pip": {"PIP_CONFIG_FILE=/dev/null", "--no-cache-dir", "--no-deps", "-I -m pip", "--no-input"},
		}},
		{provider.InstallNPM, map[string][]string{"npm": {"npm_config_cache=${scratch}/cache", "npm_config_userconfig=${scratch}/", "npm_config_globalconfig=${scratch}/", "--ignore-scripts"}}},
		{provider.InstallGo, map[string][]string{"go": {"GOPATH=${scratch}/", "GOCACHE=${scratch}/", "GOMODCACHE=${scratch}/", "GOBIN=${scratch}/", "GOENV=off", "GOTOOLCHAIN=local", "GOFLAGS=-modcacherw"}}},
	} {
		found, missing := m.installers(t.Context(), &provider.Install{Method: tt.method, Package: "m.example/x", Version: "1.0"})
		if len(found) != len(tt.want) || len(missing) > 0 {
			t.Errorf("%s: %d installers, missing %q", tt.method, len(found), missing)
		}
		for _, c := range found {
			text := strings.Join(c.argv, " ")
			for name, value := range c.set {
				text += " " + name + "=" + value
			}
			for _, part := range tt.want[c.name] {
				if !strings.Contains(text, part) {
					t.Errorf("%s lacks %s: %s", c.name, part, text)
				}
			}
			if c.target != targetDir || !strings.Contains(text, "${scratch}/"+targetDir) {
				t.Errorf("%s does not fill the folder that is measured: %s", c.name, text)
			}
		}
	}
}

func TestAdmittedNames(t *testing.T) {
	for _, method := range []provider.InstallMethod{provider.InstallPython, provider.InstallNPM, provider.InstallGo, provider.InstallCommand} {
		names := admittedNames(method, []string{"MORE", "HTTP_PROXY"})
		if !slices.Contains(names, "MORE") || !slices.Contains(names, "HTTP_PROXY") {
			t.Errorf("%s: %q", method, names)
		}
		seen := map[string]bool{}
		for _, name := range names {
			if seen[name] {
				t.Errorf("%s: %s twice", method, name)
			}
			seen[name] = true
			// A documented name that is always withheld would be a lie.
			if probe.WithheldName(name) {
				t.Errorf("%s: %s is withheld", method, name)
			}
		}
	}
}

func TestInstallerVersions(t *testing.T) {
	for _, tt := range []struct {
		read func([]byte) string
		in   string
		want string
	}{
		{secondWord, "uv 0.13.9 (x86_64-unknown-linux-gnu)\n", "0.13.9"},
		{secondWord, "pip 26.3 from /opt/site-packages/pip (python 3.11)\n", "26.3"},
		{secondWord, "uv\n", ""},
		{firstWord, "11.19.1\n", "11.19.1"},
		{firstWord, "\n", ""},
		{toolchainVersion, "go version go1.26.8 linux/amd64\n", "1.26.8"},
		{toolchainVersion, "gccgo 12", ""},
	} {
		if got := tt.read([]byte(tt.in)); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.in, got, tt.want)
		}
	}
}
