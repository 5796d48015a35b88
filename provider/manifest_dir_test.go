package provider

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-measure/provider-measure/internal/stricttoml"
	"github.com/provider-measure/provider-measure/internal/testenv"
)

// providersDir is a folder with two good manifests, a schema and a worker.
func providersDir(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(tempDir(t), "providers.d")
	write(t, filepath.Join(dir, "b.toml"), full)
	write(t, filepath.Join(dir, "schemas", "in.json"), "{}")
	write(t, filepath.Join(dir, "schemas", "out.json"), "{}")
	write(t, filepath.Join(dir, "a.toml"), distText()+"[runtime]\nargv = ['${python}', '${manifest_dir}/work/worker.py', '${manifest_dir}/absent']\n")
	write(t, filepath.Join(dir, "work", "worker.py"), "")
	write(t, filepath.Join(dir, "notes.txt"), "not a manifest")
	write(t, filepath.Join(dir, ".hidden.toml"), "not a manifest")
	return dir
}

func chmod(t *testing.T, mode fs.FileMode, parts ...string) {
	t.Helper()
	path := filepath.Join(parts...)
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(path, 0o700) }) // so that it can be removed
}

func TestLoadManifestDir(t *testing.T) {
	dir := providersDir(t)
	manifests, err := LoadManifestDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range manifests {
		got = append(got, m.ID)
		if m.Dir != dir || m.Origin != Operator || filepath.Dir(m.Source) != dir {
			t.Errorf("%s: in %s, of %s, from %s", m.ID, m.Dir, m.Origin, m.Source)
		}
	}
	if diff := cmp.Diff([]string{"tests.demo", "tests.tool"}, got); diff != "" {
		t.Error(diff)
	}
	t.Chdir(filepath.Dir(dir))
	if again, err := LoadManifestDir("providers.d"); err != nil || again[0].Dir != dir {
		t.Errorf("by a relative name: %v", err)
	}
}

func TestLoadManifestDirRefuses(t *testing.T) {
	for _, tt := range []struct {
		name   string
		do     func(t *testing.T, dir string)
		reason error
		says   string
	}{
		{"file writable by the group", func(t *testing.T, dir string) { chmod(t, 0o664, dir, "a.toml") }, ReasonManifestPermissions, "chmod go-w"},
		{"file writable by others", func(t *testing.T, dir string) { chmod(t, 0o646, dir, "a.toml") }, ReasonManifestPermissions, "a.toml"},
		{"folder writable by the group", func(t *testing.T, dir string) { chmod(t, 0o775, dir) }, ReasonManifestPermissions, "providers.d"},
		{"folder writable by others", func(t *testing.T, dir string) { chmod(t, 0o757, dir) }, ReasonManifestPermissions, ""},
		{"sticky folder writable by others", func(t *testing.T, dir string) { chmod(t, 0o777|fs.ModeSticky, dir) }, ReasonManifestPermissions, ""},
		{"parent writable by others", func(t *testing.T, dir string) { chmod(t, 0o777, dir, "..") }, ReasonManifestPermissions, "above it"},
		{"schema writable by others", func(t *testing.T, dir string) { chmod(t, 0o666, dir, "schemas", "in.json") }, ReasonManifestPermissions, "in.json"},
		{"schema folder writable by others", func(t *testing.T, dir string) { chmod(t, 0o777, dir, "schemas") }, ReasonManifestPermissions, "schemas"},
		{"worker writable by the group", func(t *testing.T, dir string) { chmod(t, 0o664, dir, "work", "worker.py") }, ReasonManifestPermissions, "worker.py"},
		{"worker folder writable by the group", func(t *testing.T, dir string) { chmod(t, 0o775, dir, "work") }, ReasonManifestPermissions, "work"},
		{"another's file", func(t *testing.T, dir string) { chown(t, filepath.Join(dir, "a.toml")) }, ReasonManifestPermissions, "belongs to user 65533"},
		{"another's folder", func(t *testing.T, dir string) { chown(t, dir) }, ReasonManifestPermissions, "belongs to user 65533"},
		{"another's parent", func(t *testing.T, dir string) { chown(t, filepath.Dir(dir)) }, ReasonManifestPermissions, "above it belongs to user 65533"},
		{"gone", func(t *testing.T, dir string) {
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		}, fs.ErrNotExist, "providers.d"},
		{"link out of the folder", func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "..", "out.toml"), distText())
			symlink(t, "../out.toml", filepath.Join(dir, "c.toml"))
		}, ReasonManifestUnreadable, "c.toml"},
		{"dangling link", func(t *testing.T, dir string) { symlink(t, "none", filepath.Join(dir, "c.toml")) }, ReasonManifestUnreadable, "c.toml"},
		{"schema that links out", func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "..", "out.json"), "{}")
			if err := os.Remove(filepath.Join(dir, "schemas", "in.json")); err != nil {
				t.Fatal(err)
			}
			symlink(t, "../../out.json", filepath.Join(dir, "schemas", "in.json"))
		}, ReasonManifestSchema, "capabilities.0.input_schema"},
		{"folder of a manifest's name", func(t *testing.T, dir string) {
			if err := os.Mkdir(filepath.Join(dir, "c.toml"), 0o755); err != nil {
				t.Fatal(err)
			}
		}, ReasonManifestUnreadable, "not a regular file"},
		{"FIFO", func(t *testing.T, dir string) {
			if err := syscall.Mkfifo(filepath.Join(dir, "c.toml"), 0o644); err != nil {
				t.Fatal(err)
			}
		}, ReasonManifestUnreadable, "not a regular file"},
		{"too large", func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "c.toml"), strings.Repeat("#", stricttoml.MaxBytes+1))
		}, stricttoml.CodeTooLarge, "c.toml"},
		{"bad manifest", func(t *testing.T, dir string) { write(t, filepath.Join(dir, "c.toml"), "manifest_version = 2\n") }, ReasonManifestVersion, "c.toml:1:1"},
		{"file for a folder", func(t *testing.T, dir string) {
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			write(t, dir, "")
		}, ReasonManifestUnreadable, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := providersDir(t)
			tt.do(t, dir)
			got, err := LoadManifestDir(dir)
			var e *ManifestError
			if !errors.As(err, &e) || !errors.Is(err, tt.reason) || got != nil {
				t.Fatalf("got %v, %v; want %v", got, err, tt.reason)
			}
			if !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%v lacks %q", err, tt.says)
			}
		})
	}
}

func chown(t *testing.T, path string) {
	t.Helper()
	if os.Geteuid() != 0 {
		testenv.Skip(t, "root", "only root can give a file away")
	}
	if err := os.Chown(path, 65533, 65533); err != nil {
		t.Fatal(err)
	}
}

func TestLoadManifestDirStickyParent(t *testing.T) {
	dir := providersDir(t)
	chmod(t, 0o777|fs.ModeSticky, dir, "..")
	if _, err := LoadManifestDir(dir); err != nil {
		t.Error(err)
	}
	link := filepath.Join(tempDir(t), "link")
	symlink(t, dir, link)
	if got, err := LoadManifestDir(link); err != nil || len(got) != 2 {
		t.Errorf("through a link: %v, %v", got, err)
	}
}

func bare(id string, origin Origin, capabilities ...string) *Manifest {
	m := &Manifest{ID: id, Origin: origin, Source: origin.String() + ":" + id}
	for _, c := range capabilities {
		m.Capabilities = append(m.Capabilities, Capability{ID: c})
	}
	return m
}

func composite(id string, components ...string) *Manifest {
	m := bare(id, Operator)
	m.Identity.Components = components
	return m
}

func TestNewSet(t *testing.T) {
	builtin := bare("tests.a", BuiltIn, "a.one", "a.two")
	own := bare("tests.a", Operator, "a.one")
	other := bare("tests.b", Operator, "a.two")
	for _, order := range [][]*Manifest{{builtin, own, other}, {own, other, builtin}} {
		s, err := NewSet(order...)
		if err != nil {
			t.Fatal(err)
		}
		if m, ok := s.Provider("tests.a"); !ok || m != own {
			t.Errorf("the operator's does not replace the built-in: %+v", m)
		}
		if m, c, ok := s.Capability("a.two"); !ok || m != other || c.ID != "a.two" {
			t.Errorf("capability of the replaced one: %+v", m)
		}
		if diff := cmp.Diff([]string{"tests.a", "tests.b"}, s.ProviderIDs()); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{"a.one", "a.two"}, s.CapabilityIDs()); diff != "" {
			t.Error(diff)
		}
		if _, _, ok := s.Capability("a.none"); ok {
			t.Error("found a capability that is not there")
		}
		if got := s.Manifests(); len(got) != 2 || got[0] != own {
			t.Errorf("manifests %+v", got)
		}
	}
}

func TestNewSetRefuses(t *testing.T) {
	chain := func(n int) []*Manifest {
		out := []*Manifest{bare("tests.c0", Operator)}
		for i := range n {
			out = append(out, composite("tests.c"+string(rune('1'+i)), out[i].ID))
		}
		return out
	}
	// Each level lists all of the two below: the record doubles at each.
	doubled := []*Manifest{bare("tests.l0", Operator), bare("tests.r0", Operator)}
	for i := range 40 {
		below := doubled[len(doubled)-2:]
		level := string(rune('a'+i/10)) + string(rune('0'+i%10))
		doubled = append(doubled, composite("tests.l"+level, below[0].ID, below[1].ID), composite("tests.r"+level, below[0].ID, below[1].ID))
	}
	for _, tt := range []struct {
		name      string
		manifests []*Manifest
		reason    Reason
		says      []string
	}{
		{"operator twice", []*Manifest{bare("tests.a", Operator), bare("tests.a", Operator)}, ReasonManifestDuplicate, []string{"tests.a", "provider.id"}},
		{"built-in twice", []*Manifest{bare("tests.a", BuiltIn), bare("tests.a", BuiltIn)}, ReasonManifestDuplicate, nil},
		{"unknown origin twice", []*Manifest{bare("tests.a", UnknownOrigin), bare("tests.a", Operator)}, ReasonManifestDuplicate, nil},
		{"capability twice", []*Manifest{bare("tests.a", BuiltIn, "x.y"), bare("tests.b", Operator, "x.y")}, ReasonManifestDuplicate, []string{"x.y", "built-in:tests.a"}},
		{"unknown component", []*Manifest{composite("tests.a", "tests.none")}, ReasonComponentUnknown, []string{"tests.none"}},
		{"of itself", []*Manifest{composite("tests.a", "tests.a")}, ReasonComponentUnknown, []string{"tests.a > tests.a"}},
		{"cycle", []*Manifest{composite("tests.a", "tests.b"), composite("tests.b", "tests.c"), composite("tests.c", "tests.a")}, ReasonComponentUnknown, []string{"cycle", "tests.c > tests.a"}},
		{"deep", chain(8), ReasonComponentUnknown, []string{"9 deep"}},
		{"doubling", doubled, ReasonComponentUnknown, []string{"at most 256"}},
	} {
		s, err := NewSet(tt.manifests...)
		if !errors.Is(err, tt.reason) || s != nil {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.reason)
			continue
		}
		for _, part := range tt.says {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v lacks %q", tt.name, err, part)
			}
		}
	}
	if _, err := NewSet(chain(7)...); err != nil {
		t.Error(err)
	}
}

func TestBuiltins(t *testing.T) {
	read, err := ParseBuiltins()
	if err != nil {
		t.Fatal(err)
	}
	manifests, remove, err := OpenBuiltins(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if len(read) == 0 || len(read) != len(manifests) {
		t.Errorf("%d read, %d opened", len(read), len(manifests))
	}
	newSet(t, manifests...)
	dir := manifests[0].Dir
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	for i, m := range manifests {
		checkManifest(t, m)
		if m.Dir != dir || read[i].Dir != "" || m.Origin != BuiltIn || m.Origin.String() != "built-in" {
			t.Errorf("%s in %q, %q", m.ID, m.Dir, read[i].Dir)
		}
		for _, name := range m.namedFiles() {
			if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
				t.Error(err)
			}
		}
	}
	if err := remove(); err != nil || exists(dir) {
		t.Errorf("not removed: %v", err)
	}
	_, remove, err = OpenBuiltins(filepath.Join(t.TempDir(), "none"))
	want{code: CodeUnavailable, reason: ReasonWorkersUnavailable, hint: "TMPDIR"}.check(t, err)
	if err := remove(); err != nil {
		t.Error(err)
	}
}
