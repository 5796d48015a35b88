package measure

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/provider-measure/provider-measure/digest"
	"github.com/provider-measure/provider-measure/internal/testenv"
	"github.com/provider-measure/provider-measure/probe"
	"github.com/provider-measure/provider-measure/provider"
)

const demoManifest = `manifest_version = 1
[provider]
id = "tests.demo"
title = "Demo"
version = "1.0"
install_tier = "T1"
license_id = "MIT"
[identity]
kind = "PYTHON_DISTRIBUTION_RECORD"
distribution = "demo-pkg"
import_name = "demo_pkg"
[runtime]
argv = ["${python}", "-I", "-B", "-c", "import demo_pkg"]
[probes.cold_start]
[probes.reproduction]
argv = ["${python}", "-I", "-B", "-c", "import demo_pkg; print(6)", "reproduce"]
[probes.reproduction.expect.stdout]
equals = "6\n"
`

const treeManifest = `manifest_version = 1
[provider]
id = "tests.tree"
title = "Tree"
version = "1"
install_tier = "T0"
license_id = "MIT"
[identity]
kind = "SOURCE_TREE"
root = "src"
`

const compositeManifest = `manifest_version = 1
[provider]
id = "tests.both"
title = "Both"
version = "composite-1"
install_tier = "T2"
license_id = "MIT"
[identity]
kind = "COMPOSITE"
components = [%s]
`

// newDemo installs demo-pkg into an environment made by hand.
func newDemo(t testing.TB) (x *tool, site string) {
	t.Helper()
	x = newTool(t)
	x.env["VENV"], site = venv(t)
	testenv.CopyTreeTo(t, filepath.Join(testenv.RepoRoot(t), "testdata", "inputs", "dist", "good"), site)
	x.manifest(t, "demo", demoManifest+capabilityTable)
	return x, site
}

func (x *tool) manifest(t testing.TB, name, text string) {
	t.Helper()
	write(t, filepath.Join(x.dir, "manifests", "schema.json"), `{"type":"object"}`, 0o644)
	write(t, filepath.Join(x.dir, "manifests", name+".toml"), text, 0o644)
}

func (x *tool) set(t testing.TB) *provider.Set {
	t.Helper()
	list, err := provider.LoadManifestDir(filepath.Join(x.dir, "manifests"))
	if err != nil {
		t.Fatal(err)
	}
	set, err := provider.NewSet(list...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func (x *tool) python(t testing.TB, run func(context.Context, probe.Spec) (*probe.Result, error)) *provider.Host {
	t.Helper()
	return provider.NewHost(x.set(t), provider.HostOptions{Lookup: x.lookup, Python: x.env["VENV"], TempDir: x.scratch, Run: run})
}

func TestMeasureDistribution(t *testing.T) {
	x, site := newDemo(t)
	r := measured(t, x.python(t, nil), Options{Runs: 1})
	var want int64
	for _, name := range []string{"demo_pkg/__init__.py", "demo_pkg-1.0.dist-info/METADATA", "demo_pkg-1.0.dist-info/WHEEL", "demo_pkg-1.0.dist-info/INSTALLER", "demo_pkg-1.0.dist-info/RECORD"} {
		info, err := os.Stat(filepath.Join(site, name))
		if err != nil {
			t.Fatal(err)
		}
		want += info.Size()
	}
	if *r.InstalledSize.Bytes != want || *r.InstalledSize.Files != 5 || r.InstalledSize.SharedLibraries != nil {
		t.Errorf("installed size %+v, want %d bytes in 5 files", r.InstalledSize, want)
	}
	if r.ColdStart.Status != Completed || r.ReproductionCase.Status != Completed {
		t.Errorf("%s, %s", show(r.ColdStart.Detail), show(r.ReproductionCase.Detail))
	}
	if in := r.Environment.Interpreter; in == nil || in.Executable != filepath.Join(x.env["VENV"], "bin", "python3") || !strings.HasPrefix(in.Version, "3.") {
		t.Errorf("interpreter %+v", r.Environment.Interpreter)
	}
	x.nothingLeft(t)
}

// A file with two names is there once, in a tree and across components.
func TestHardLinksOnce(t *testing.T) {
	x := newTool(t)
	src := filepath.Join(x.dir, "manifests", "src")
	one := write(t, filepath.Join(src, "one"), strings.Repeat("x", 1000), 0o644)
	write(t, filepath.Join(src, "three"), "yyy", 0o644)
	for _, link := range []string{filepath.Join(src, "two"), filepath.Join(src, "d", "four")} {
		if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Link(one, link); err != nil {
			t.Fatal(err)
		}
	}
	other := filepath.Join(x.dir, "manifests", "other")
	write(t, filepath.Join(other, "own"), "zz", 0o644)
	if err := os.Link(one, filepath.Join(other, "shared")); err != nil {
		t.Fatal(err)
	}
	x.manifest(t, "tree", treeManifest)
	x.manifest(t, "other", strings.NewReplacer("tests.tree", "tests.other", `"src"`, `"other"`).Replace(treeManifest))
	x.manifest(t, "tool", strings.ReplaceAll(toolManifest, "{tool}", x.exe))
	x.manifest(t, "both", strings.ReplaceAll(compositeManifest, "%s", `"tests.tree", "tests.other", "tests.tool"`)+capabilityTable)
	h := provider.NewHost(x.set(t), provider.HostOptions{Lookup: x.lookup, TempDir: x.scratch})
	r := measured(t, h, Options{})
	want := int64(1000 + 3 + 2 + len(toolScript))
	if *r.InstalledSize.Bytes != want || *r.InstalledSize.Files != 4 {
		t.Errorf("%d bytes in %d files, want %d in 4", *r.InstalledSize.Bytes, *r.InstalledSize.Files, want)
	}
	if r.InstalledSize.SharedLibraries == nil {
		t.Error("the composite has an executable")
	}
	if r.Environment.Interpreter != nil || r.Environment.Unknown["interpreter"] == "" {
		t.Errorf("interpreter %+v", r.Environment.Interpreter)
	}
}

// What identification did not keep is an error, never 0.
func TestSizeUnknown(t *testing.T) {
	inventory := &digest.Inventory{}
	for _, tt := range []struct {
		kind digest.Kind
		in   provider.Measured
	}{
		{digest.ExecutableKind, provider.Measured{}},
		{digest.SourceTree, provider.Measured{}},
		{digest.SourceTree, provider.Measured{Tree: &digest.TreeResult{Bytes: 5, Files: 1}}},
		{digest.PythonRecord, provider.Measured{}},
		{digest.PythonRecord, provider.Measured{Inventory: inventory}},
		{digest.CompositeKind, provider.Measured{}},
		{digest.Kind("OTHER"), provider.Measured{}},
		{digest.CompositeKind, provider.Measured{Components: []provider.Identification{{}}}},
	} {
		if err := collectFiles(fileSet{}, tt.kind, tt.in); err == nil {
			t.Errorf("%s %+v has a size", tt.kind, tt.in)
		}
	}
	s := installedSize(t.Context(), provider.Identification{})
	if fails(t, s.Status, s.Detail, Failed, CodeNotMeasured); s.Bytes != nil || s.Files != nil {
		t.Errorf("size %+v", s)
	}
}

func TestSharedLibraries(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	libs := sharedLibraries(t.Context(), provider.Measured{Executable: &digest.ExecutableResult{Path: self}})
	want, err := digest.SharedLibraries(t.Context(), self)
	if err != nil {
		t.Fatal(err)
	}
	if want.Reason == "" && (libs.Bytes == nil || *libs.Bytes != want.Bytes() || libs.Detail != nil) {
		t.Errorf("libraries %+v, want %+v", libs, want)
	}
	if strings.HasPrefix(want.Reason, "static") && (libs.Bytes == nil || *libs.Bytes != 0 || libs.Detail == nil) {
		t.Errorf("a static program needs none, and the detail says why: %+v", libs)
	}
	bad := write(t, filepath.Join(t.TempDir(), "bad"), "\x7fELF\x02\x01\x01 nothing more", 0o755)
	libs = sharedLibraries(t.Context(), provider.Measured{Executable: &digest.ExecutableResult{Path: bad}})
	if libs.Bytes != nil || libs.Files != nil || libs.Detail == nil || !strings.HasPrefix(*libs.Detail, "digest.") {
		t.Errorf("libraries of a broken file: %+v %s", libs, show(libs.Detail))
	}
}

func TestTreeBytes(t *testing.T) {
	dir := t.TempDir()
	one := write(t, filepath.Join(dir, "a", "one"), "12345", 0o644)
	if err := os.Link(one, filepath.Join(dir, "two")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if n, err := treeBytes(t.Context(), dir); err != nil || n != 5 {
		t.Errorf("%d bytes, %v", n, err)
	}
	for name, path := range map[string]string{"missing": filepath.Join(dir, "no"), "file": one, "link": filepath.Join(dir, "link"), "empty": t.TempDir()} {
		if n, err := treeBytes(t.Context(), path); err == nil {
			t.Errorf("%s: %d bytes", name, n)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := treeBytes(ctx, dir); err == nil {
		t.Error("a cancelled walk went on")
	}
}
