package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/provider-measure/provider-measure/internal/testenv"
)

// golden is what of testdata/vectors/golden.json the digest command is asked.
type golden struct {
	Record []struct {
		DistInfo string `json:"dist_info"`
		Keep     struct {
			Digest string
			Rows   int
			Error  string
		} `json:"keep_missing_files"`
		Error string
	}
	Package []struct {
		Name, Digest, Error, Entrypoint string
		SysPath                         []string `json:"sys_path"`
	}
	Derived struct {
		Composite struct {
			Components    []json.RawMessage
			Digest        string
			SwappedDigest string `json:"swapped_digest"`
		} `json:"composite_runtime"`
	}
}

func readGolden(t testing.TB) (golden, string) {
	t.Helper()
	folder := filepath.Join(testenv.RepoRoot(t), "testdata", "vectors")
	data, err := os.ReadFile(filepath.Join(folder, "golden.json"))
	if err != nil {
		t.Fatal(err)
	}
	var g golden
	if err := json.Unmarshal(data, &g); err != nil {
		t.Fatal(err)
	}
	if len(g.Record) < 12 || len(g.Package) < 24 || len(g.Derived.Composite.Components) < 2 {
		t.Fatalf("golden.json has %d records, %d packages, %d components", len(g.Record), len(g.Package), len(g.Derived.Composite.Components))
	}
	return g, folder
}

func TestGoldenRecords(t *testing.T) {
	g, folder := readGolden(t)
	s := newSandbox(t, false)
	withFindings := map[string]bool{"demo_mixed-3.0.dist-info": true, "demo_allmissing-1.0.dist-info": true}
	for _, v := range g.Record {
		t.Run(v.DistInfo, func(t *testing.T) {
			r := s.call(t, "digest", "record", filepath.Join(folder, "record", "lib", "site-packages", v.DistInfo))
			if v.Error != "" || v.Keep.Error != "" {
				r.want(t, exitFinding)
				if e := r.failure(t); !strings.HasPrefix(e.Code, "digest.record_") || r.stdout != "" {
					t.Errorf("%s, and on standard output %q", r.stderr, r.stdout)
				}
				return
			}
			status := exitGood
			if withFindings[v.DistInfo] {
				status = exitFinding
			}
			r.want(t, status)
			document := decoded(t, r.stdout)
			if got := at(t, document, "/0/digest"); got != v.Keep.Digest {
				t.Errorf("digest %s, want %s", got, v.Keep.Digest)
			}
			if strings.Contains(r.stderr, `"finding":`) != withFindings[v.DistInfo] {
				t.Errorf("standard error %q", r.stderr)
			}
		})
	}
}

func TestGoldenPackages(t *testing.T) {
	g, folder := readGolden(t)
	s := newSandbox(t, false)
	vectors := testenv.CopyTree(t, folder)
	// The copy that was handed over has a link's target where the link was.
	for _, name := range []string{
		"symlink_dangling/demo_pkg/gone.txt", "symlink_dir/demo_pkg/linkdir", "symlink_file/demo_pkg/escape.py",
		"symlink_module/demo_pkg/plugin.py", "symlink_pycache/demo_pkg/__pycache__", "symlink_root/demo_pkg",
	} {
		turnIntoLink(t, filepath.Join(vectors, "package", name))
	}
	if err := syscall.Mkfifo(filepath.Join(vectors, "package", "fifo", "demo_pkg", "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, v := range g.Package {
		t.Run(v.Name+" "+v.Entrypoint, func(t *testing.T) {
			args := []string{"digest", "tree", "--entrypoint=" + v.Entrypoint}
			for _, dir := range v.SysPath {
				args = append(args, filepath.Join(vectors, dir))
			}
			if len(v.SysPath) == 0 {
				args = append(args, filepath.Join(vectors, "package", "base"))
			}
			r := s.call(t, args...)
			if v.Error == "" {
				r.want(t, exitGood)
				if got := at(t, decoded(t, r.stdout), "/0/digest"); got != v.Digest {
					t.Errorf("digest %s, want %s", got, v.Digest)
				}
				return
			}
			if r.status == exitGood || r.status == exitUnfinished || r.stdout != "" {
				t.Errorf("exit status %d, %q", r.status, r.stdout)
			}
			if e := r.failure(t); !strings.HasPrefix(e.Code, "digest.") {
				t.Errorf("%s", r.stderr)
			}
		})
	}
}

// turnIntoLink makes a link of a file that holds the link's target.
func turnIntoLink(t testing.TB, path string) {
	t.Helper()
	target, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	link(t, strings.TrimSpace(string(target)), path)
}

func TestGoldenComposite(t *testing.T) {
	g, _ := readGolden(t)
	s := newSandbox(t, false)
	c := g.Derived.Composite
	files := make([]string, len(c.Components))
	for i, component := range c.Components {
		files[i] = filepath.Join(s.dir, string(rune('a'+i))+".json")
		if err := os.WriteFile(files[i], component, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, v := range []struct {
		name, digest string
		args         []string
	}{
		{"in order", c.Digest, files},
		{"swapped", c.SwappedDigest, []string{files[1], files[0]}},
	} {
		t.Run(v.name, func(t *testing.T) {
			r := s.call(t, append([]string{"digest", "composite"}, v.args...)...)
			r.want(t, exitGood)
			if got := at(t, decoded(t, r.stdout), "/0/digest"); got != v.digest {
				t.Errorf("digest %s, want %s", got, v.digest)
			}
		})
	}
}
