package provider

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-measure/provider-measure/digest"
	"github.com/provider-measure/provider-measure/internal/testenv"
	"github.com/provider-measure/provider-measure/probe"
)

// used is path as a run would have observed it, when read.
func used(t testing.TB, path string) probe.ObservedFile {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		t.Fatal("no stat")
	}
	exe, err := digest.Executable(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return probe.ObservedFile{
		Path: path, Kind: probe.FileRegular, Opened: true, Dev: exe.File.Dev, Ino: exe.File.Ino, Size: exe.File.Size,
		MtimeNS: exe.File.MtimeNS, CtimeNS: exe.File.CtimeNS, Mode: uint32(st.Mode), //nolint:unconvert // the type differs by system
	}
}

// closureOf fails the test for an error, and finds files by path.
func closureOf(t testing.TB, h *Host, id Identification, observed ...probe.ObservedFile) (*Closure, map[string]ClosureFile) {
	t.Helper()
	c, err := h.Closure(t.Context(), id, observed)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]ClosureFile{}
	for _, f := range c.Files {
		files[f.Path] = f
	}
	if n := c.Covered + c.Changed + c.Uncovered + c.Exempt; n != len(c.Files) || len(c.Files) != len(observed) {
		t.Errorf("%d files counted, %d listed, %d observed", n, len(c.Files), len(observed))
	}
	return c, files
}

// toolIn writes an executable and returns the manifest that declares it.
func toolIn(t testing.TB, dir, id string) (*Manifest, string) {
	t.Helper()
	path := script(t, filepath.Join(dir, "tool"), "#!/bin/sh\necho tool 1.0\n")
	return manifest(t, tempDir(t), header(id, "1.0")+"[identity]\nkind = 'EXECUTABLE'\nexecutable = '"+path+
		"'\n[probes.health]\nargv = ['${executable}']\n[probes.health.expect.stdout]\nmatches = '^tool (?P<version>[0-9.]+)\\n$'\n"), path
}

func TestClosureCoverage(t *testing.T) {
	dir := tempDir(t)
	m, tool := toolIn(t, dir, "tests.tool")
	h := NewHost(newSet(t, m), HostOptions{TempDir: t.TempDir(), PackageDatabase: tempDir(t)})
	id := identifyAvailable(t, h, m)

	same := used(t, tool)
	moved, replaced, rewritten := same, same, same
	moved.Path, moved.CtimeNS = "/elsewhere", same.CtimeNS+1
	replaced.Ino++
	rewritten.Changed = true
	linked := same
	linked.Path = filepath.Join(dir, "another-name")
	other := used(t, write(t, filepath.Join(dir, "data", "other"), "x"))
	kind := func(k probe.FileKind, executed bool) probe.ObservedFile {
		return probe.ObservedFile{Path: "/some/" + string(k), Kind: k, Executed: executed}
	}
	scratch := other
	scratch.Path = probe.ScratchVar + "/x"
	for _, tt := range []struct {
		name  string
		file  probe.ObservedFile
		want  Coverage
		owner OwnerKind
	}{
		{"the executable", same, Covered, OwnerIdentity},
		{"by another name", linked, Covered, OwnerIdentity},
		{"changed since", moved, Moved, OwnerIdentity},
		{"replaced since", replaced, Moved, OwnerIdentity},
		{"changed between two uses", rewritten, Moved, OwnerIdentity},
		{"another file", other, Uncovered, OwnerNone},
		{"of the run itself", scratch, Exempt, OwnerScratch},
		{"folder", kind(probe.FileDirectory, false), Exempt, OwnerNone},
		{"device", kind(probe.FileDevice, false), Exempt, OwnerKernel},
		{"pipe", kind(probe.FilePipe, false), Exempt, OwnerKernel},
		{"pseudo file", kind(probe.FilePseudo, false), Exempt, OwnerKernel},
		{"memory", kind(probe.FileMemory, false), Exempt, OwnerKernel},
		{"program in memory", kind(probe.FileMemory, true), Uncovered, OwnerNone},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, _ := closureOf(t, h, id, tt.file)
			if got := c.Files[0]; got.Coverage != tt.want || got.Owner.Kind != tt.owner {
				t.Errorf("coverage %s, owner %+v; want %s, %s", got.Coverage, got.Owner, tt.want, tt.owner)
			}
		})
	}
	c, _ := closureOf(t, h, id, same, other, moved)
	want := []ClosureComponent{
		{Kind: digest.ExecutableKind, Provider: "tests.tool", Name: tool, Files: 1},
		{Kind: digest.SourceTree, Name: filepath.Join(dir, "data"), Files: 1},
	}
	if diff := cmp.Diff(want, c.Composite); diff != "" || c.Remaining != 1 {
		t.Errorf("%d remain, composite (-want +got):\n%s", c.Remaining, diff)
	}
	if c.Digest != id.Runtime.Digest().String() || c.DigestKind != digest.ExecutableKind || c.Provider != "tests.tool" {
		t.Errorf("closure of %s %s %s", c.Provider, c.DigestKind, c.Digest)
	}
}

// TestClosureTree covers both formats of a tree, and a package of one module.
func TestClosureTree(t *testing.T) {
	dir := tempDir(t)
	file := write(t, filepath.Join(dir, "tree", "a", "b.py"), "b = 1\n")
	module := write(t, filepath.Join(dir, "path", "alone.py"), "def f(): pass\n")
	inPackage := write(t, filepath.Join(dir, "path", "pack", "__init__.py"), "def f(): pass\n")
	for name, tt := range map[string]struct{ identity, path string }{
		"tree":    {"root = '" + filepath.Join(dir, "tree") + "'", file},
		"module":  {"entrypoint = 'alone:f'\nsearch_path = ['" + filepath.Join(dir, "path") + "']", module},
		"package": {"entrypoint = 'pack:f'\nsearch_path = ['" + filepath.Join(dir, "path") + "']", inPackage},
	} {
		t.Run(name, func(t *testing.T) {
			m := manifest(t, tempDir(t), header("tests.tree", "1.0")+"[identity]\nkind = 'SOURCE_TREE'\n"+tt.identity+"\n")
			h := NewHost(newSet(t, m), HostOptions{TempDir: t.TempDir()})
			id := identifyAvailable(t, h, m)
			read := used(t, tt.path)
			replaced := read
			replaced.Ino++
			c, _ := closureOf(t, h, id, read, replaced)
			if c.Files[0].Coverage != Covered || c.Files[1].Coverage != Moved || c.Composite[0].Files != 1 {
				t.Errorf("closure is %+v", c)
			}
		})
	}
}

func TestClosureDistribution(t *testing.T) {
	m := distManifest(t, "")
	site, h := distVenv(t, "pyc-rows", m)
	// There when the identity is measured, and named by RECORD without a hash.
	bytecode := write(t, filepath.Join(site, "demo_pkg", "__pycache__", "__init__.cpython-311.pyc"), "x")
	id := identifyAvailable(t, h, m)
	python, err := h.Python(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	source := filepath.Join(site, "demo_pkg", "__init__.py")
	other := write(t, filepath.Join(site, "other.py"), "x = 1\n")
	info := filepath.Join(site, "other_dist-2.0.dist-info")
	write(t, filepath.Join(info, "METADATA"), "Metadata-Version: 2.1\nName: other-dist\nVersion: 2.0\n")
	write(t, filepath.Join(info, "RECORD"), "other.py,sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,6\n")
	stdlib := filepath.Join(resolveAll(python.Stdlib)[0], "os.py")
	loose := write(t, filepath.Join(site, "loose.pth"), "# nobody's\n")
	c, files := closureOf(t, h, id, used(t, source), used(t, bytecode), used(t, other), used(t, stdlib), used(t, loose))
	for path, want := range map[string]struct {
		coverage Coverage
		kind     OwnerKind
		name     string
	}{
		source:   {Covered, OwnerIdentity, "tests.demo"},
		bytecode: {Uncovered, OwnerDistribution, "demo-pkg"},
		stdlib:   {Uncovered, OwnerInterpreter, "python"},
		loose:    {Uncovered, OwnerNone, ""},
	} {
		f := files[path]
		if f.Coverage != want.coverage || f.Owner.Kind != want.kind || f.Owner.Name != want.name {
			t.Errorf("%s: %s, %+v; want %+v", path, f.Coverage, f.Owner, want)
		}
	}
	if f := files[other]; (f.Owner != Owner{Kind: OwnerDistribution, Name: "other-dist", Version: "2.0"}) {
		t.Errorf("%s: %+v", other, f.Owner)
	}
	if !slices.ContainsFunc(c.Notes, func(n string) bool { return strings.Contains(n, "bytecode") }) {
		t.Errorf("no note of bytecode: %q", c.Notes)
	}
	for _, part := range c.Composite[1:] {
		if part.Provider != "" || part.Kind == digest.SourceTree && part.Name == resolveAll(python.Stdlib)[0] && !slices.Equal(part.Exclude, []string{"site-packages"}) {
			t.Errorf("component %+v", part)
		}
	}
}

// TestClosureComposite checks that other providers of the host are found to cover
// files, and that a composite's components are told apart.
func TestClosureComposite(t *testing.T) {
	dir := tempDir(t)
	m, tool := toolIn(t, filepath.Join(dir, "one"), "tests.one")
	n, second := toolIn(t, filepath.Join(dir, "two"), "tests.two")
	both := manifest(t, tempDir(t), header("tests.both", "composite-1")+"[identity]\nkind = 'COMPOSITE'\ncomponents = ['tests.one', 'tests.two']\n")
	h := NewHost(newSet(t, m, n, both), HostOptions{TempDir: t.TempDir()})
	c, _ := closureOf(t, h, identifyAvailable(t, h, m), used(t, tool), used(t, second))
	want := []ClosureComponent{
		{Kind: digest.ExecutableKind, Provider: "tests.one", Name: tool, Files: 1},
		{Kind: digest.ExecutableKind, Provider: "tests.two", Name: second, Files: 1},
	}
	if diff := cmp.Diff(want, c.Composite); diff != "" || c.Uncovered != 1 || c.Remaining != 0 {
		t.Errorf("%d uncovered, %d remain, composite (-want +got):\n%s", c.Uncovered, c.Remaining, diff)
	}
	c, files := closureOf(t, h, identifyAvailable(t, h, both), used(t, tool), used(t, second))
	if diff := cmp.Diff(want, c.Composite); diff != "" || c.Covered != 2 || files[second].CoveredBy != "tests.two" {
		t.Errorf("%d covered, composite (-want +got):\n%s", c.Covered, diff)
	}
}

func TestClosureCancelled(t *testing.T) {
	m, tool := toolIn(t, tempDir(t), "tests.tool")
	h := NewHost(newSet(t, m), HostOptions{TempDir: t.TempDir()})
	id := identifyAvailable(t, h, m)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if c, err := h.Closure(ctx, id, []probe.ObservedFile{used(t, tool)}); c != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("closure %v, %v", c, err)
	}
}

func TestSystemPackages(t *testing.T) {
	dir := tempDir(t)
	write(t, filepath.Join(dir, "info", "libc6:amd64.list"), "/.\n/lib64/ld-linux-x86-64.so.2\n/lib/x86_64-linux-gnu/libc.so.6\n")
	write(t, filepath.Join(dir, "info", "coreutils.list"), "/bin/cat\n/usr/bin/env\n")
	write(t, filepath.Join(dir, "info", "other.list"), "/usr/bin/env-not\n")
	write(t, filepath.Join(dir, "status"), "Package: coreutils\nVersion: 9.1\n\nPackage: libc6\nArchitecture: amd64\nVersion: 2.36\n\nPackage: libc6\nArchitecture: i386\nVersion: 2.35\n")
	paths := []string{"/usr/bin/cat", "/usr/bin/env", "/usr/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2", "/opt/x"}
	s := findSystemPackages(t.Context(), dir, paths)
	want := map[string]Owner{
		paths[0]: {Kind: OwnerPackage, Name: "coreutils", Version: "9.1"},
		paths[1]: {Kind: OwnerPackage, Name: "coreutils", Version: "9.1"},
		paths[2]: {Kind: OwnerPackage, Name: "libc6", Version: "2.36"},
		paths[3]: {Kind: OwnerPackage, Name: "libc6", Version: "2.36"},
	}
	if diff := cmp.Diff(want, s.byPath); diff != "" || s.absent {
		t.Errorf("packages (-want +got):\n%s", diff)
	}
	if s := findSystemPackages(t.Context(), tempDir(t), paths); !s.absent {
		t.Error("an empty folder passes for a database")
	}
	h := NewHost(nil, HostOptions{PackageDatabase: tempDir(t)})
	o := h.newOwners(t.Context(), []*ClosureFile{{ObservedFile: probe.ObservedFile{Path: "/usr/bin/cat"}}})
	f := ClosureFile{ObservedFile: probe.ObservedFile{Path: "/usr/bin/cat", Kind: probe.FileRegular}, Coverage: Uncovered}
	if owner := o.of(&f); owner.Kind != OwnerUnknown {
		t.Errorf("without a database the owner is %+v", owner)
	}
}

func TestSourceOf(t *testing.T) {
	for path, want := range map[string]string{
		"/a/__pycache__/b.cpython-311.pyc":       "/a/b.py",
		"/a/__pycache__/b.cpython-311.opt-1.pyc": "/a/b.py",
		"/a/b.pyc":                               "/a/b.pyc",
		"/a/__pycache__/b.so":                    "/a/__pycache__/b.so",
	} {
		if got := sourceOf(path); got != want {
			t.Errorf("sourceOf(%q) = %q, want %q", path, got, want)
		}
	}
}

// TestTraceOfARun runs a real case and holds its files against the identity.
func TestTraceOfARun(t *testing.T) {
	m := manifest(t, tempDir(t), header("tests.demo", "1.0")+`[identity]
kind = 'PYTHON_DISTRIBUTION_RECORD'
distribution = 'demo-pkg'
import_name = 'demo_pkg'
[runtime]
argv = ['${python}']
[probes.reproduction]
argv = ['${python}', '-I', '-B', '-c', 'import demo_pkg; print(1)']
[probes.reproduction.expect.stdout]
equals = "1\n"
`)
	site, h := distVenv(t, "good", m)
	id := identifyAvailable(t, h, m)
	result, err := h.ObserveProbe(t.Context(), m, id.Measured, m.Probes.Reproduction, CodeUnavailable)
	if err != nil {
		t.Fatal(err)
	}
	if result.Engine != probe.EngineTracer {
		testenv.Skip(t, "ptrace", "the engine here is "+result.Engine)
	}
	c, files := closureOf(t, h, id, result.Observed...)
	if f := files[filepath.Join(site, "demo_pkg", "__init__.py")]; f.Coverage != Covered || !f.Opened {
		t.Errorf("the package is %+v", f)
	}
	python, err := h.Python(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if f := files[resolveAll([]string{python.Executable})[0]]; !f.Executed || f.Coverage != Uncovered {
		t.Errorf("the interpreter is %+v", f)
	}
	if c.Changed != 0 || c.Uncovered == 0 || result.ObservedIncomplete != "" {
		t.Errorf("%d changed, %d uncovered, incomplete %q", c.Changed, c.Uncovered, result.ObservedIncomplete)
	}
}
