package provider

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/provider-measure/provider-measure/internal/hostpath"
	"github.com/provider-measure/provider-measure/internal/testenv"
)

func TestMain(m *testing.M) {
	flag.Bool("update", false, "write docs/schemas anew")
	goleak.VerifyTestMain(m)
}

// input is a folder of the reported cases.
func input(t testing.TB, parts ...string) string {
	t.Helper()
	return filepath.Join(append([]string{testenv.RepoRoot(t), "testdata", "inputs"}, parts...)...)
}

func write(t testing.TB, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// script writes an executable file.
func script(t testing.TB, path, text string) string {
	t.Helper()
	write(t, path, text)
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func symlink(t testing.TB, target, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// tempDir is t.TempDir with its links resolved, as results have it.
func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil { // whatever the umask is
		t.Fatal(err)
	}
	return dir
}

// environment is a host's environment of the given names and values.
func environment(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for i := 0; i+1 < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

// hostPython is the machine's interpreter, links resolved.
func hostPython(t testing.TB) *Python {
	t.Helper()
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		exe := filepath.Join(dir, "python3")
		if script, err := isScript(exe); err != nil || script || !hostpath.Executable(exe) {
			continue
		}
		// Where its files are enough, no process is needed.
		if p, _, err := readPrefix(exe); err == nil && p != nil {
			if p.Executable, err = filepath.EvalSymlinks(exe); err == nil {
				return p
			}
		}
	}
	p, err := NewHost(nil, HostOptions{Lookup: environment("PATH", os.Getenv("PATH"))}).Python(t.Context())
	if err != nil {
		testenv.Skip(t, "python", err.Error())
	}
	if p.Executable, err = filepath.EvalSymlinks(p.Executable); err != nil {
		t.Fatal(err)
	}
	return p
}

// venv makes a virtual environment by hand and returns its site-packages and a
// host that uses it.
func venv(t testing.TB, manifests ...*Manifest) (site string, h *Host) {
	t.Helper()
	base := hostPython(t)
	dir := tempDir(t)
	write(t, filepath.Join(dir, "pyvenv.cfg"), fmt.Sprintf("home = %s\nversion = %s\n", filepath.Dir(base.Executable), base.Version))
	symlink(t, base.Executable, filepath.Join(dir, "bin", "python3"))
	site = filepath.Join(dir, "lib", "python"+minorOf(base.Version), "site-packages")
	if err := os.MkdirAll(site, 0o755); err != nil {
		t.Fatal(err)
	}
	return site, NewHost(newSet(t, manifests...), HostOptions{Python: dir, TempDir: t.TempDir()})
}

// distVenv is a venv with one of the dist cases installed.
func distVenv(t testing.TB, name string, manifests ...*Manifest) (site string, h *Host) {
	t.Helper()
	site, h = venv(t, manifests...)
	testenv.CopyTreeTo(t, input(t, "dist", name), site)
	return site, h
}

func newSet(t testing.TB, manifests ...*Manifest) *Set {
	t.Helper()
	set, err := NewSet(manifests...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// manifest parses text as an operator's manifest in dir.
func manifest(t testing.TB, dir, text string) *Manifest {
	t.Helper()
	m, err := ParseManifest([]byte(text), ManifestSource{File: "test.toml", Dir: dir, FS: os.DirFS(dir), Origin: Operator})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// providerTable is a [provider] table.
func header(id, version string) string {
	return fmt.Sprintf("manifest_version = 1\n[provider]\nid = %q\ntitle = 'T'\nversion = %q\ninstall_tier = 'T1'\nlicense_id = 'MIT'\n", id, version)
}

// distManifest declares demo-pkg; more is added to its [identity].
func distManifest(t testing.TB, more string) *Manifest {
	t.Helper()
	return manifest(t, tempDir(t), header("tests.demo", "1.0")+"[identity]\nkind = 'PYTHON_DISTRIBUTION_RECORD'\ndistribution = 'demo-pkg'\nimport_name = 'demo_pkg'\n"+more)
}

// want is an expected failure.
type want struct {
	code   Code
	reason error
	says   []string // parts of the message
	hint   string   // a part of the hint
	path   string   // the end of the path
}

func (w want) check(t testing.TB, err error) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want an *Error with %s", err, w.code)
	}
	if !errors.Is(err, w.code) || e.Code != w.code {
		t.Errorf("code %s, want %s: %v", e.Code, w.code, err)
	}
	if w.reason != nil && !errors.Is(err, w.reason) {
		t.Errorf("reason %q, want %q: %v", e.ReasonText(), w.reason, err)
	}
	for _, part := range w.says {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("message lacks %q: %v", part, err)
		}
	}
	if !strings.Contains(e.Hint, w.hint) {
		t.Errorf("hint %q lacks %q", e.Hint, w.hint)
	}
	if !strings.HasSuffix(e.Path, w.path) {
		t.Errorf("path %q, want one that ends in %q", e.Path, w.path)
	}
}

// identify fails the test for anything but an outcome.
func identify(t testing.TB, h *Host, m *Manifest) Identification {
	t.Helper()
	id, err := h.Identify(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	checkOutcome(t, id)
	return id
}

// available fails the test for an UNAVAILABLE provider.
func identifyAvailable(t testing.TB, h *Host, m *Manifest) Identification {
	t.Helper()
	id := identify(t, h, m)
	if id.Failure != nil {
		t.Fatalf("%v (%s); hint: %s", id.Failure, id.Failure.ReasonText(), id.Failure.Hint)
	}
	return id
}

// checkOutcome holds what is true of every outcome.
func checkOutcome(t testing.TB, id Identification) {
	t.Helper()
	if id.Runtime.IsZero() || id.Runtime.Available() != (id.Failure == nil) {
		t.Fatalf("record %+v beside failure %v", id.Runtime.Record(), id.Failure)
	}
	if id.Failure != nil && (id.Failure.Provider != id.Manifest.ID || id.Runtime.Diagnostic() == "" || id.Runtime.Digest() != "") {
		t.Errorf("failure of %q, diagnostic %q, digest %q", id.Failure.Provider, id.Runtime.Diagnostic(), id.Runtime.Digest())
	}
	validateRecord(t, id.Runtime)
}
