//go:build unix

package digest

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/provider-measure/provider-measure/internal/testenv"
)

func TestVerifyLineEndings(t *testing.T) {
	root := testenv.CopyTree(t, data(t, "inputs", "dist", "good"))
	text := "X = 1\n"
	write(t, filepath.Join(root, demoInit), strings.ReplaceAll(text, "\n", "\r\n"))
	d, err := FindDistribution(t.Context(), Search{Paths: []string{root}}, demoPkg)
	if err != nil {
		t.Fatal(err)
	}
	rep, err := d.Verify(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p := rep.Problems()
	if len(p) != 1 || !p[0].LineEndingsOnly || p[0].Status != FileModified || !strings.Contains(p[0].Detail, "line endings") {
		t.Errorf("got %+v", p)
	}
}

func TestVerifyRows(t *testing.T) {
	dir := site{"f": "hello"}.make(t, t.TempDir())
	const good = "LPJNul-wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ"
	tests := []struct {
		name string
		row  Row
		want FileStatus
	}{
		{"good", Row{Hashed: true, Algorithm: "sha256", Hash: good, Size: "5"}, FileGood},
		{"good without size", Row{Hashed: true, Algorithm: "SHA256", Hash: good}, FileGood},
		{"wrong size", Row{Hashed: true, Algorithm: "sha256", Hash: good, Size: "6"}, FileSizeMismatch},
		{"endless size", Row{Hashed: true, Algorithm: "sha256", Hash: good, Size: "99999999999999999999"}, FileSizeMismatch},
		{"no hash, wrong size", Row{Size: "6"}, FileSizeMismatch},
		{"no hash", Row{Size: "5"}, FileUnhashed},
		{"padded", Row{Hashed: true, Algorithm: "sha256", Hash: good + "="}, FileMalformed},
		{"spare bits set", Row{Hashed: true, Algorithm: "sha256", Hash: good[:42] + "R"}, FileMalformed},
		{"line break", Row{Hashed: true, Algorithm: "sha256", Hash: good[:42] + "\n" + good[42:]}, FileMalformed},
		{"standard alphabet", Row{Hashed: true, Algorithm: "sha256", Hash: strings.ReplaceAll(good, "-", "+")}, FileMalformed},
		{"of another algorithm", Row{Hashed: true, Algorithm: "sha512", Hash: good}, FileMalformed},
		{"empty", Row{Hashed: true, Algorithm: "sha256"}, FileMalformed},
		{"sha1", Row{Hashed: true, Algorithm: "sha1", Hash: "qvTGHdzF6KLavt4PO0gs2a6pQ00"}, FileWeakHash},
		{"unknown", Row{Hashed: true, Algorithm: "crc", Hash: "x"}, FileWeakHash},
		{"other", Row{Hashed: true, Algorithm: "sha256", Hash: "A" + good[1:]}, FileModified},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.row.Path = "f"
			d := &Distribution{Site: dir, Prefix: dir, Record: &Record{Rows: []Row{tt.row}}}
			rep, err := d.Verify(t.Context())
			if err != nil || rep.Rows[0].Status != tt.want || rep.Verified() != (tt.want == FileGood) {
				t.Errorf("got %+v, %v; want %s", rep, err, tt.want)
			}
		})
	}
}

// One row without a hash stands against "verified", unless it is one that can't
// have any; and a RECORD of such rows alone verifies nothing.
func TestVerifiedNeedsHashes(t *testing.T) {
	good := VerifiedRow{Row: Row{Path: "f"}, Status: FileGood}
	plain := VerifiedRow{Row: Row{Path: "g"}, Status: FileUnhashed}
	own := VerifiedRow{Row: Row{Path: "p-1.dist-info/RECORD"}, Status: FileUnhashed}
	bytecode := VerifiedRow{Row: Row{Path: "p/__pycache__/x.pyc"}, Status: FileUnhashed}
	for _, tt := range []struct {
		rows     []VerifiedRow
		want     bool
		problems int
	}{
		{[]VerifiedRow{good, own, bytecode}, true, 0},
		{[]VerifiedRow{good, plain}, false, 1},
		{[]VerifiedRow{own, bytecode}, false, 0},
		{[]VerifiedRow{good, {Row: Row{Path: "q/RECORD"}, Status: FileUnhashed}}, false, 1},
		{[]VerifiedRow{good, {Row: Row{Path: "q/x.pyc"}, Status: FileUnhashed}}, false, 1},
		{nil, false, 0},
	} {
		rep := Report{Rows: tt.rows, Counts: map[FileStatus]int{}}
		for _, r := range tt.rows {
			rep.Counts[r.Status]++
		}
		if rep.Verified() != tt.want || len(rep.Problems()) != tt.problems {
			t.Errorf("%+v: verified %v, %d problems", tt.rows, rep.Verified(), len(rep.Problems()))
		}
	}
}
