package provider

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/provider-measure/provider-measure/digest"
	"github.com/provider-measure/provider-measure/internal/testenv"
	"github.com/provider-measure/provider-measure/probe"
)

// marker makes the package tell when it is imported.
func marker(t *testing.T, site string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "imported")
	write(t, filepath.Join(site, "demo_pkg", "__init__.py"), "import os\nVALUE = 1\ntry:\n    open("+strconv.Quote(path)+", 'w').close()\nexcept OSError:\n    import sys; print('IMPORTED', file=sys.stderr); raise SystemExit('IMPORTED')\n")
	return path
}

// Nothing of the provider is imported but by Ready. The probe's isolation keeps
// the module from writing the marker, so it fails aloud instead.
func TestIdentifyImportsNothing(t *testing.T) {
	m := distManifest(t, "required_attributes = ['VALUE', 'absent']\n")
	site, _ := distVenv(t, "good")
	path := marker(t, site)
	ran := 0
	h := NewHost(newSet(t, m), HostOptions{
		Python: filepath.Join(site, "..", "..", ".."), TempDir: t.TempDir(),
		Run: countRuns(&ran),
	})
	id := identifyAvailable(t, h, m)
	if err := h.Revalidate(t.Context(), id.Runtime); err != nil {
		t.Error(err)
	}
	if ran != 0 || exists(path) {
		t.Fatalf("%d processes, marker %v", ran, exists(path))
	}
	err := h.Ready(t.Context(), m, id.Runtime, id.Measured)
	if ran != 1 {
		t.Errorf("%d processes", ran)
	}
	if !exists(path) && (err == nil || !strings.Contains(err.Error(), "IMPORTED")) {
		t.Errorf("Ready did not import: %v", err)
	}
}

// A start-up hook that puts another folder first is seen where the import is
// really made; the files alone can't tell what a hook does.
func TestReadySeesStartUpHook(t *testing.T) {
	site, h := distVenv(t, "good")
	m := distManifest(t, "")
	rt := identifyAvailable(t, h, m).Runtime
	other := tempDir(t)
	write(t, filepath.Join(other, "demo_pkg", "__init__.py"), "VALUE = 2\n")
	hook := write(t, filepath.Join(site, "0.pth"), "import sys; sys.path.insert(0, "+strconv.Quote(other)+")\n")
	err := h.Ready(t.Context(), m, rt, Measured{})
	want{CodeReadinessFailed, ReasonImportShadowed, []string{filepath.Join(other, "demo_pkg", "__init__.py"), "module path"}, ".pth", "demo_pkg/__init__.py"}.check(t, err)
	if err := os.Remove(hook); err != nil {
		t.Fatal(err)
	}
	if err := h.Ready(t.Context(), m, rt, Measured{}); err != nil {
		t.Errorf("without the hook: %v", err)
	}
}

// A record could not name an interpreter at such a path, so nothing is measured.
func TestPythonAtAnUnrepresentablePath(t *testing.T) {
	dir := filepath.Join(tempDir(t), "nu\xff")
	symlink(t, hostPython(t).Executable, filepath.Join(dir, "bin", "python3"))
	h := NewHost(nil, HostOptions{Python: dir, TempDir: t.TempDir()})
	_, err := h.Python(t.Context())
	want{CodeUnavailable, ReasonPathUnrepresentable, []string{`nu\xff`}, "--python", "bin/python3"}.check(t, err)
}

func TestReadyImports(t *testing.T) {
	site, h := distVenv(t, "good")
	m := distManifest(t, "required_attributes = ['VALUE', 'os']\n")
	rt := identifyAvailable(t, h, m).Runtime
	for _, tt := range []struct {
		name, text string
		want       *want
	}{
		{"good", "import os\nVALUE = 1\n", nil},
		{"attribute missing", "VALUE = 1\n", &want{CodeReadinessFailed, ReasonAttributeMissing, []string{"no attribute os"}, "", ""}},
		{"raises", "raise ImportError('no ' + 'libfoo.so')\n", &want{CodeReadinessFailed, ReasonImportFailed, []string{"ImportError: no libfoo.so"}, "", ""}},
		{"exits", "raise SystemExit(0)\n", &want{CodeReadinessFailed, ReasonImportFailed, nil, "", ""}},
		{"syntax", "(\n", &want{CodeReadinessFailed, ReasonImportFailed, []string{"SyntaxError"}, "", ""}},
		{"killed", "import os\nos.kill(os.getpid(), 9)\n", &want{CodeReadinessFailed, ReasonImportFailed, []string{"SIGKILL"}, "", ""}},
		{"prints", "import os\nprint('x' * 1000)\nVALUE = 1\n", nil},
	} {
		write(t, filepath.Join(site, "demo_pkg", "__init__.py"), tt.text)
		err := h.Ready(t.Context(), nil, rt, Measured{})
		if tt.want == nil {
			if err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
			continue
		}
		tt.want.check(t, err)
	}
	record := rt.Record()
	record.ImportName, record.RequiredAttribs = nil, nil
	nameless, err := NewRuntime(record)
	if err != nil {
		t.Fatal(err)
	}
	want{code: CodeIdentityIncomplete, reason: ReasonRecordIncomplete}.check(t, h.Ready(t.Context(), nil, nameless, Measured{}))
	if err := h.Revalidate(t.Context(), nameless); err != nil {
		t.Error("without an import name the rest is still measured:", err)
	}
	fails := NewHost(nil, HostOptions{Python: filepath.Join(site, "..", "..", ".."), Run: failRun(&probe.Error{Code: probe.CodeScratch, Err: os.ErrPermission})})
	want{code: CodeReadinessFailed, reason: probe.CodeScratch}.check(t, fails.Ready(t.Context(), nil, rt, Measured{}))
}

func TestImportIsOfTheDistribution(t *testing.T) {
	for _, tt := range []struct {
		name     string
		manifest string // replaces the import name
		do       func(t *testing.T, site string)
		want     *want
	}{
		{"a stranger's name in RECORD", "", func(t *testing.T, site string) {
			write(t, filepath.Join(site, "json", "__init__.py"), "")
			appendTo(t, filepath.Join(site, demoInfo, "RECORD"), "json/__init__.py,,\n")
		}, nil},
		{"standard library", "json", func(t *testing.T, site string) {
			write(t, filepath.Join(site, "json", "__init__.py"), "")
			appendTo(t, filepath.Join(site, demoInfo, "RECORD"), "json/__init__.py,,\n")
		}, &want{CodeUnavailable, ReasonImportShadowed, []string{"import json would load", "json/__init__.py"}, "", ""}},
		{"package that RECORD does not name", "stray", func(t *testing.T, site string) {
			write(t, filepath.Join(site, "stray", "__init__.py"), "")
		}, &want{CodeUnavailable, ReasonImportShadowed, []string{"stray/__init__.py", "does not name"}, "remove", "stray/__init__.py"}},
		{"no module", "absent", func(*testing.T, string) {}, &want{CodeUnavailable, ReasonImportMissing, []string{`module "absent" is not to be found`}, "install", ""}},
		{"module hidden by a package", "", func(t *testing.T, site string) {
			// A package goes before a module: the recorded one is not what loads.
			rename(t, site, "demo_pkg", "kept")
			write(t, filepath.Join(site, "demo_pkg.py"), "")
			write(t, filepath.Join(site, "demo_pkg", "__init__.py"), "")
			write(t, filepath.Join(site, demoInfo, "RECORD"), "demo_pkg.py,sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,0\n")
		}, &want{CodeUnavailable, ReasonImportShadowed, []string{"demo_pkg/__init__.py"}, "", ""}},
		{"extension module", "fast", func(t *testing.T, site string) {
			write(t, filepath.Join(site, "fast.abi3.so"), "")
			appendTo(t, filepath.Join(site, demoInfo, "RECORD"), "fast.abi3.so,,\n")
		}, nil},
		{"extension module hides source", "fast", func(t *testing.T, site string) {
			write(t, filepath.Join(site, "fast.so"), "")
			write(t, filepath.Join(site, "fast.py"), "")
			appendTo(t, filepath.Join(site, demoInfo, "RECORD"), "fast.py,,\n")
		}, &want{CodeUnavailable, ReasonImportShadowed, []string{"fast.so"}, "", "fast.so"}},
		{"namespace package", "space.inner", func(t *testing.T, site string) {
			write(t, filepath.Join(site, "space", "inner.py"), "")
			appendTo(t, filepath.Join(site, demoInfo, "RECORD"), "space/inner.py,,\n")
		}, nil},
		{"namespace itself", "space", func(t *testing.T, site string) {
			write(t, filepath.Join(site, "space", "inner.py"), "")
			appendTo(t, filepath.Join(site, demoInfo, "RECORD"), "space/inner.py,,\n")
		}, nil},
		{"namespace of another", "space", func(t *testing.T, site string) {
			write(t, filepath.Join(site, "space", "inner.py"), "")
		}, &want{CodeUnavailable, ReasonImportShadowed, []string{"space"}, "", ""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			site, h := distVenv(t, "good")
			tt.do(t, site)
			text := distText()
			if tt.manifest != "" {
				text = strings.Replace(text, "'demo_pkg'", "'"+tt.manifest+"'", 1)
			}
			id := identify(t, h, manifest(t, tempDir(t), text))
			if tt.want == nil {
				if id.Failure != nil {
					t.Fatal(id.Failure)
				}
				return
			}
			tt.want.check(t, id.Failure)
		})
	}
}

// A copy in an environment that comes first on the path is what would run.
func TestShadowedInstallation(t *testing.T) {
	m := distManifest(t, "")
	site, h := distVenv(t, "good")
	later := tempDir(t)
	testenv.CopyTreeTo(t, input(t, "dist", "good"), later)
	write(t, filepath.Join(site, "more.pth"), later+"\n")
	id := identifyAvailable(t, h, m)
	if len(id.Warnings) != 1 || !strings.Contains(id.Warnings[0], string(digest.CodeShadowed)) {
		t.Errorf("warnings %q", id.Warnings)
	}
	if id.Measured.Distribution.Site != site {
		t.Errorf("measured in %s", id.Measured.Distribution.Site)
	}
	// Without metadata of its own, the folder in front hides the measured one.
	site, h = venv(t)
	testenv.CopyTreeTo(t, input(t, "dist", "good"), later)
	write(t, filepath.Join(site, "more.pth"), later+"\n")
	write(t, filepath.Join(site, "demo_pkg", "__init__.py"), "")
	want{CodeUnavailable, ReasonImportShadowed, []string{filepath.Join(site, "demo_pkg")}, "remove", ""}.check(t, identify(t, h, m).Failure)
}
