//go:build unix

package digest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/provider-measure/provider-measure/internal/testenv"
)

// A file that is far longer than recorded is told without being read: this one
// is sparse and would take minutes.
func TestVerifyDoesNotReadWhatCanNotHold(t *testing.T) {
	site := testenv.CopyTree(t, "../testdata/inputs/dist/good")
	if err := os.Truncate(filepath.Join(site, "demo_pkg", "__init__.py"), 1<<40); err != nil {
		testenv.Skip(t, "sparse", "this file system has no file of a terabyte: "+err.Error())
	}
	d, err := FindDistribution(t.Context(), Search{Paths: []string{site}}, "demo-pkg")
	if err != nil {
		t.Fatal(err)
	}
	report, err := d.Verify(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	row := report.Rows[0]
	if row.Status != FileModified || !strings.Contains(row.Detail, "not read") || report.Verified() {
		t.Errorf("%+v", row)
	}
}

// A name that no file system can hold names nothing.
func TestInventoryNameTooLong(t *testing.T) {
	site := testenv.CopyTree(t, "../testdata/inputs/dist/good")
	record := filepath.Join(site, "demo_pkg-1.0.dist-info", "RECORD")
	data, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	long := "demo_pkg/" + strings.Repeat("a", 5000)
	if err := os.WriteFile(record, append(data, long+",,\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
	d, err := FindDistribution(t.Context(), Search{Paths: []string{site}}, "demo-pkg")
	if err != nil {
		t.Fatal(err)
	}
	inventory, err := d.Inventory(t.Context())
	if err != nil || len(inventory.Missing) != 1 || inventory.Missing[0].Path != long {
		t.Errorf("%d missing, %v", len(inventory.Missing), err)
	}
}
