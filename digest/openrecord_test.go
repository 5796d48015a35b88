//go:build unix

package digest

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/provider-measure/provider-measure/internal/testenv"
)

func TestOpenRecord(t *testing.T) {
	dir := testenv.CopyTree(t, "../testdata/inputs/dist/missing-file")
	path := filepath.Join(dir, "demo_pkg-1.0.dist-info", "RECORD")
	d, err := OpenRecord(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	found, err := FindDistribution(t.Context(), Search{Paths: []string{dir}}, "demo-pkg")
	if err != nil {
		t.Fatal(err)
	}
	if d.Record.Digest() != found.Record.Digest() {
		t.Errorf("digest %s by path, %s by name", d.Record.Digest(), found.Record.Digest())
	}
	inventory, err := d.Inventory(t.Context())
	if err != nil || len(inventory.Missing) != 1 || inventory.Missing[0].Path != "demo_pkg/__init__.py" {
		t.Errorf("inventory %+v, %v", inventory, err)
	}
	for name, tt := range map[string]struct {
		make func(string) error
		want Code
	}{
		"absent": {func(string) error { return nil }, CodeNotFound},
		"empty":  {func(p string) error { return os.WriteFile(p, nil, 0o644) }, CodeRecordEmpty},
		"link":   {func(p string) error { return os.Symlink(path, p) }, CodeNotRegular},
		"folder": {func(p string) error { return os.Mkdir(p, 0o755) }, CodeNotRegular},
	} {
		p := filepath.Join(t.TempDir(), "RECORD")
		if err := tt.make(p); err != nil {
			t.Fatal(err)
		}
		if d, err := OpenRecord(t.Context(), p); !errors.Is(err, tt.want) || d != nil {
			t.Errorf("%s: %v, %v; want %v", name, d, err, tt.want)
		}
	}
}
