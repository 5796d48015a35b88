//go:build unix

package digest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/provider-measure/provider-measure/internal/testenv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// data returns the path of something below /testdata. It follows RepoRoot, so
// that a test binary can be run in a copy of the repository.
func data(t testing.TB, parts ...string) string {
	t.Helper()
	return filepath.Join(append([]string{testenv.RepoRoot(t), "testdata"}, parts...)...)
}

// relink turns a file that holds a link's target into that link.
func relink(t testing.TB, path string) {
	t.Helper()
	target, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(string(target), path); err != nil {
		t.Fatal(err)
	}
}

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// golden is the part of golden.json that this package is tested with.
type golden struct {
	Package []struct {
		Name, Note, Entrypoint, Digest, Error, Why string
		SysPath                                    []string `json:"sys_path"`
		TopLevel                                   string   `json:"top_level"`
		Entries                                    []string
	}
	Record []struct {
		Distribution string
		DistInfo     string `json:"dist_info"`
		Version      string
		Keep         struct {
			Digest, Error, Why string
			Rows               int
		} `json:"keep_missing_files"`
	}
	Derived struct {
		Composite struct {
			Components []json.RawMessage
			Digest     string
			Swapped    string `json:"swapped_digest"`
		} `json:"composite_runtime"`
		Closure struct {
			Distribution string
			FileCount    int `json:"file_count"`
		} `json:"closure_v1"`
	}
}

func readGolden(t testing.TB) golden {
	t.Helper()
	b, err := os.ReadFile(data(t, "vectors", "golden.json"))
	if err != nil {
		t.Fatal(err)
	}
	var g golden
	if err := json.Unmarshal(b, &g); err != nil {
		t.Fatal(err)
	}
	if len(g.Package) < 20 || len(g.Record) < 10 || len(g.Derived.Composite.Components) == 0 {
		t.Fatal("golden.json has lost its vectors")
	}
	return g
}
