//go:build unix

package digest

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-measure/provider-measure/internal/testenv"
)

// prepareVector makes what git can't hold in the copy of one package vector.
func prepareVector(t *testing.T, root, name string) {
	pkg := filepath.Join(root, "package", name, "demo_pkg")
	switch name {
	case "symlink_module":
		relink(t, filepath.Join(pkg, "plugin.py"))
	case "symlink_file":
		relink(t, filepath.Join(pkg, "escape.py"))
	case "symlink_dir":
		write(t, filepath.Join(root, "package", name, "outdir", "x.py"), "")
		relink(t, filepath.Join(pkg, "linkdir"))
	case "symlink_pycache":
		write(t, filepath.Join(root, "package", name, "outdir", "x.py"), "")
		relink(t, filepath.Join(pkg, "__pycache__"))
	case "symlink_root":
		relink(t, pkg)
	case "symlink_dangling":
		relink(t, filepath.Join(pkg, "gone.txt"))
	case "fifo":
		if err := syscall.Mkfifo(filepath.Join(pkg, "pipe"), 0o644); err != nil {
			t.Fatal(err)
		}
	case "pycache_mode_mtime_emptydir_changed":
		pkg = filepath.Join(root, "package", "pycache_changed", "demo_pkg")
		if err := errors.Join(os.Mkdir(filepath.Join(pkg, "empty"), 0o755),
			os.Chmod(filepath.Join(pkg, "helper.py"), 0o755),
			os.Chtimes(filepath.Join(pkg, "helper.py"), time.Unix(1, 0), time.Unix(1, 0))); err != nil {
			t.Fatal(err)
		}
	}
}

// Codes expected for the golden refusals, by name and, for entrypoints, note.
func goldenPackageCode(name, note string) Code {
	switch name {
	case "bad_entrypoint":
		return CodeEntrypointInvalid
	case "namespace_two_roots":
		return CodeNamespacePackage
	case "missing_module", "missing_package":
		return CodeModuleNotFound
	default:
		return CodeNotRegular
	}
}

func TestGoldenPackages(t *testing.T) {
	for _, v := range readGolden(t).Package {
		t.Run(v.Name+" "+v.Note, func(t *testing.T) {
			root := t.TempDir()
			testenv.CopyTreeTo(t, data(t, "vectors"), root)
			prepareVector(t, root, v.Name)
			var path []string
			for _, p := range v.SysPath {
				path = append(path, filepath.Join(root, p))
			}
			got, err := PythonPackage(t.Context(), path, v.Entrypoint, TreeOptions{CollectFiles: true})
			if v.Error != "" {
				if want := goldenPackageCode(v.Name, v.Note); !errors.Is(err, want) {
					t.Fatalf("error %v, want %s", err, want)
				}
				if diff := cmp.Diff(TreeResult{}, got); diff != "" {
					t.Error("not the zero value:", diff)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got.Digest.String() != v.Digest || got.TopLevel != v.TopLevel {
				t.Errorf("got %s of %s, want %s of %s", got.Digest, got.TopLevel, v.Digest, v.TopLevel)
			}
			var names []string
			for _, e := range got.Entries {
				name := "0:" + v.TopLevel + "/" + e.Path
				if strings.HasSuffix(got.Root, ".py") {
					name = e.Path
				}
				names = append(names, name)
			}
			if diff := cmp.Diff(v.Entries, names); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestGoldenRecords(t *testing.T) {
	codes := map[string]Code{
		"demo-nohash": CodeRecordNoHash, "demo-norecord": CodeRecordMissing, "demo-emptyrecord": CodeRecordEmpty,
		"demo-blankline": CodeRecordMalformed, "demo-fourcols": CodeRecordMalformed, "demo-badsize": CodeRecordMalformed,
	}
	search := Search{Paths: []string{data(t, "vectors", "record", "lib", "site-packages")}}
	for _, v := range readGolden(t).Record {
		t.Run(v.Distribution, func(t *testing.T) {
			d, err := FindDistribution(t.Context(), search, v.Distribution)
			if v.Keep.Error != "" {
				if want := codes[v.Distribution]; want == "" || !errors.Is(err, want) || d != nil {
					t.Fatalf("error %v, want %q", err, want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := d.Record.Digest().String(); got != v.Keep.Digest {
				t.Errorf("digest %s, want %s", got, v.Keep.Digest)
			}
			if len(d.Record.Rows) != v.Keep.Rows || d.Version != v.Version || filepath.Base(d.MetadataDir) != v.DistInfo {
				t.Errorf("%d rows, version %s, in %s", len(d.Record.Rows), d.Version, d.MetadataDir)
			}
			if want := data(t, "vectors", "record"); d.Prefix != want {
				t.Errorf("prefix %s, want %s", d.Prefix, want)
			}
		})
	}
}

func TestGoldenComposite(t *testing.T) {
	v := readGolden(t).Derived.Composite
	records := make([][]byte, 0, len(v.Components))
	for _, c := range v.Components {
		records = append(records, c)
	}
	got, err := Composite(records)
	if err != nil || got.String() != v.Digest {
		t.Errorf("got %s, %v; want %s", got, err, v.Digest)
	}
	slices.Reverse(records)
	got, err = Composite(records)
	if err != nil || got.String() != v.Swapped {
		t.Errorf("swapped: got %s, %v; want %s", got, err, v.Swapped)
	}
}

// The rule of closure_v1's files_digest isn't part of the contract. Its count is
// the number of files that the inventory finds.
func TestGoldenClosureCount(t *testing.T) {
	v := readGolden(t).Derived.Closure
	d, err := FindDistribution(t.Context(), Search{Paths: []string{data(t, "vectors", "record", "lib", "site-packages")}}, v.Distribution)
	if err != nil {
		t.Fatal(err)
	}
	inv, err := d.Inventory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(inv.Files) != v.FileCount || len(inv.Missing)+len(inv.Refused) != 0 {
		t.Errorf("%d files, want %d; missing %v, refused %v", len(inv.Files), v.FileCount, inv.Missing, inv.Refused)
	}
}
