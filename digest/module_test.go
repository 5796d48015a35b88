//go:build unix

package digest

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-measure/provider-measure/internal/testenv"
)

func TestFindModule(t *testing.T) {
	a := site{
		"pkg/__init__.py": "raise SystemExit", "pkg/mod.py": "", "pkg/sub/deep.py": "", "one.py": "", "both.py": "", "both/__init__.py": "",
		"fast.cpython-312-x86_64-linux-gnu.so": "", "fast.py": "", "abi.abi3.so": "", "plain.so": "", "old.pyc": "", "ns/x.py": "",
		"extpkg/__init__.abi3.so": "", "later/data.txt": "", "dirpy.py/": "",
	}.make(t, filepath.Join(t.TempDir(), "a"))
	b := site{"ns/y.py": "", "later.py": "", "one.py": "", "dirpy.py/": ""}.make(t, filepath.Join(t.TempDir(), "b"))
	if err := os.Symlink("one.py", filepath.Join(a, "linked.py")); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		ask  string
		kind ModuleKind
		path string // relative to a, or b where it starts with b:
		want Code
	}{
		{"pkg", ModulePackage, "pkg/__init__.py", ""},
		{"pkg.mod", ModuleSource, "pkg/mod.py", ""},
		{"pkg.sub", ModuleNamespace, "pkg/sub", ""},
		{"pkg.sub.deep", ModuleSource, "pkg/sub/deep.py", ""},
		{"one", ModuleSource, "one.py", ""},
		{"linked", ModuleSource, "linked.py", ""},
		{"both", ModulePackage, "both/__init__.py", ""},
		{"fast", ModuleExtension, "fast.cpython-312-x86_64-linux-gnu.so", ""},
		{"abi", ModuleExtension, "abi.abi3.so", ""},
		{"plain", ModuleExtension, "plain.so", ""},
		{"old", ModuleBytecode, "old.pyc", ""},
		{"extpkg", ModulePackage, "extpkg/__init__.abi3.so", ""},
		{"ns", ModuleNamespace, "ns", ""},
		{"ns.y", ModuleSource, "b:ns/y.py", ""},
		{"later", ModuleSource, "b:later.py", ""},
		{"absent", "", "", CodeModuleNotFound},
		{"dirpy", "", "", CodeModuleNotFound},
		{"one.x", "", "", CodeModuleNotFound},
		{"pkg.absent", "", "", CodeModuleNotFound},
		{"", "", "", CodeModuleInvalid},
		{"a..b", "", "", CodeModuleInvalid},
		{"../a", "", "", CodeModuleInvalid},
	}
	for _, tt := range tests {
		t.Run(tt.ask, func(t *testing.T) {
			m, err := FindModule([]string{filepath.Join(a, "absent"), a, b}, tt.ask)
			if tt.want != "" {
				if !errors.Is(err, tt.want) || m.Kind != "" {
					t.Fatalf("got %+v, %v", m, err)
				}
				return
			}
			want := filepath.Join(a, tt.path)
			if len(tt.path) > 2 && tt.path[:2] == "b:" {
				want = filepath.Join(b, tt.path[2:])
			}
			if err != nil || m.Kind != tt.kind || m.Path != want || m.Name != tt.ask {
				t.Errorf("got %+v, %v; want %s %s", m, err, tt.kind, want)
			}
		})
	}
	m, err := FindModule([]string{a, b}, "ns")
	if diff := cmp.Diff([]string{filepath.Join(a, "ns"), filepath.Join(b, "ns")}, m.Dirs); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if _, err := FindModule([]string{""}, "x"); !errors.Is(err, CodeInvalidArgument) {
		t.Error(err)
	}
}

func TestPythonPackage(t *testing.T) {
	tests := []struct {
		name  string
		site  site
		links map[string]string
		ask   string
		want  Code
	}{
		{name: "extension goes first", site: site{"p.abi3.so": "", "p.py": ""}, ask: "p:x", want: CodeModuleNotFound},
		{name: "init is a directory", site: site{"p/__init__.py/x": ""}, ask: "p:x", want: CodeNamespacePackage},
		{name: "init is a link", site: site{"p/real.py": ""}, links: map[string]string{"p/__init__.py": "real.py"}, ask: "p:x", want: CodeNotRegular},
		{name: "module is a link", site: site{"q.py": ""}, links: map[string]string{"p.py": "q.py"}, ask: "p:x", want: CodeNotRegular},
		{name: "module in a module", site: site{"p.py": ""}, ask: "p.q:x", want: CodeModuleNotFound},
		{name: "module without source", site: site{"p/__init__.py": "", "p/q.pyc": ""}, ask: "p.q:x", want: CodeModuleNotFound},
		{name: "module is a namespace", site: site{"p/__init__.py": "", "p/q/r.py": ""}, ask: "p.q:x", want: CodeModuleNotFound},
		{name: "below a namespace", site: site{"p/__init__.py": "", "p/q/r.py": ""}, ask: "p.q.r:x"},
		{name: "module in __pycache__", site: site{"p/__init__.py": "", "p/__pycache__/r.py": ""}, ask: "p.__pycache__.r:x", want: CodeChanged},
		{name: "plain", site: site{"p/__init__.py": "", "p/q.py": ""}, ask: "p.q:x"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := tt.site.make(t, t.TempDir())
			for name, target := range tt.links {
				must(t, os.Symlink(target, filepath.Join(dir, name)))
			}
			res, err := PythonPackage(t.Context(), []string{dir}, tt.ask, TreeOptions{})
			if tt.want == "" && err != nil || tt.want != "" && !errors.Is(err, tt.want) {
				t.Errorf("got %+v, %v; want %q", res, err, tt.want)
			}
		})
	}
}

// A package of the same name later on the path doesn't count, an earlier plain
// directory doesn't either.
func TestPythonPackageOrder(t *testing.T) {
	base := t.TempDir()
	first := site{"p/data.txt": ""}.make(t, filepath.Join(base, "1"))
	second := site{"p/__init__.py": "2"}.make(t, filepath.Join(base, "2"))
	third := site{"p/__init__.py": "3"}.make(t, filepath.Join(base, "3"))
	res, err := PythonPackage(t.Context(), []string{first, second, third}, "p:x", TreeOptions{})
	if err != nil || res.Root != filepath.Join(second, "p") || res.ModuleFile != filepath.Join(second, "p", "__init__.py") {
		t.Errorf("%+v, %v", res, err)
	}
}

func TestExecutable(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "tool")
	write(t, file, "hello")
	must(t, os.Chmod(file, 0o755), os.Symlink("tool", filepath.Join(dir, "link")), os.Symlink("loop", filepath.Join(dir, "loop")), os.Symlink("gone", filepath.Join(dir, "dangling")))
	const sha = "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
	for _, name := range []string{"tool", "link", "../" + filepath.Base(dir) + "/tool"} {
		res, err := Executable(t.Context(), filepath.Join(dir, name))
		if err != nil || res.Digest != sha || res.Path != file || res.Mode != 0o755 || res.File.Size != 5 {
			t.Errorf("%s: %+v, %v", name, res, err)
		}
	}
	for name, want := range map[string]Code{
		"absent": CodeNotFound, "dangling": CodeNotFound, "loop": CodeNotRegular, ".": CodeNotRegular, "tool/x": CodeNotFound,
	} {
		if res, err := Executable(t.Context(), filepath.Join(dir, name)); !errors.Is(err, want) || res != (ExecutableResult{}) {
			t.Errorf("%s: %+v, %v; want %s", name, res, err, want)
		}
	}
	if _, err := Executable(t.Context(), ""); !errors.Is(err, CodeInvalidArgument) {
		t.Error(err)
	}
	if _, err := os.Stat("/dev/null"); err != nil {
		testenv.Skip(t, "device", "no /dev/null")
	}
	if _, err := Executable(t.Context(), "/dev/null"); !errors.Is(err, CodeNotRegular) {
		t.Error(err)
	}
}
