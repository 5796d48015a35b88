//go:build unix

package digest

import (
	"os"
	"path/filepath"
	"testing"
)

func TestLineEndingDigests(t *testing.T) {
	write := func(files map[string]string) string {
		dir := t.TempDir()
		for name, content := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	plain := func(dir string) string {
		t.Helper()
		tree, err := Tree(t.Context(), dir, TreeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return tree.Digest.String()
	}
	binary := "\x00\r\n\n"
	unixTree := write(map[string]string{"a.py": "x\ny\n", "b.bin": binary, "c": "no end"})
	dosTree := write(map[string]string{"a.py": "x\r\ny\r\n", "b.bin": binary, "c": "no end"})
	for name, dir := range map[string]string{
		"LF": unixTree, "CRLF": dosTree,
		"mixed": write(map[string]string{"a.py": "x\r\ny\n", "b.bin": binary, "c": "no end"}),
	} {
		lf, crlf, err := LineEndingDigests(t.Context(), dir, TreeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if lf.String() != plain(unixTree) || crlf.String() != plain(dosTree) {
			t.Errorf("%s: %s and %s, want %s and %s", name, lf, crlf, plain(unixTree), plain(dosTree))
		}
	}
	for name, files := range map[string]map[string]string{
		"other binary":  {"a.py": "x\ny\n", "b.bin": "\x00\n\n", "c": "no end"},
		"other content": {"a.py": "x\nz\n", "b.bin": binary, "c": "no end"},
		"CR alone":      {"a.py": "x\ry\r", "b.bin": binary, "c": "no end"},
	} {
		lf, crlf, err := LineEndingDigests(t.Context(), write(files), TreeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if lf.String() == plain(unixTree) || crlf.String() == plain(dosTree) {
			t.Errorf("%s is taken for a difference of line ends", name)
		}
	}
}
