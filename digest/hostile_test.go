//go:build unix

package digest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// openDescriptors counts the descriptors of this process.
func openDescriptors(t *testing.T) int {
	t.Helper()
	for _, dir := range []string{"/proc/self/fd", "/dev/fd"} {
		if e, err := os.ReadDir(dir); err == nil {
			return len(e)
		}
	}
	return -1
}

// No way out of a walk may leave a descriptor open.
func TestDescriptorsAreClosed(t *testing.T) {
	root := t.TempDir()
	for i := range 60 {
		write(t, filepath.Join(root, strings.Repeat("d/", i), "f"), "x")
	}
	write(t, filepath.Join(root, "p", "__init__.py"), "")
	before := openDescriptors(t)
	mustTree(t, root, TreeOptions{})
	must(t, os.Symlink("x", filepath.Join(root, "e")), os.Symlink("x", filepath.Join(root, strings.Repeat("d/", 50), "a")), os.Symlink("x", filepath.Join(root, "p", "z")))
	for range 20 {
		refused(t, root, TreeOptions{}, CodeNotRegular, "a")
		if _, err := Tree(t.Context(), root, TreeOptions{MaxDepth: 40}); !errors.Is(err, CodeTooDeep) {
			t.Error(err)
		}
		if _, err := PythonPackage(t.Context(), []string{root}, "p:x", TreeOptions{}); !errors.Is(err, CodeNotRegular) {
			t.Error(err)
		}
		d, err := inputDist(t, "path-escape", demoPkg)
		must(t, err)
		_, err = d.Verify(t.Context())
		must(t, err)
		_, err = SharedLibraries(t.Context(), "/proc/self/exe")
		_ = err // not there on every system
	}
	if after := openDescriptors(t); after != before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

// A process that may open few files still measures, or is told why not.
func TestDescriptorLimit(t *testing.T) {
	root := t.TempDir()
	for i := range 200 {
		write(t, filepath.Join(root, fmt.Sprintf("d%d/e/f", i)), "x")
	}
	var old unix.Rlimit
	must(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &old))
	low := old
	low.Cur = 256
	must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &low))
	defer func() { must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &old)) }()
	mustTree(t, root, TreeOptions{Workers: 16})

	low.Cur = uint64(openDescriptors(t))
	must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &low))
	_, err := Tree(t.Context(), root, TreeOptions{})
	must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &old))
	if !errors.Is(err, CodeDescriptorLimit) {
		t.Errorf("got %v", err)
	}
}

// RECORDs made to be expensive.
func TestHostileRecords(t *testing.T) {
	many := strings.Repeat("a,sha256=x\n", 200_000)
	tests := map[string]string{
		"many equal rows":  many,
		"many conflicts":   strings.ReplaceAll(many, "=x\na", "=y\na") + "a,sha256=z",
		"long path":        strings.Repeat("d/", 60_000) + "f,sha256=x\n",
		"climbing":         strings.Repeat("../", 40_000) + "f,sha256=x\n",
		"many commas":      strings.Repeat(",", 10<<20),
		"many quotes":      strings.Repeat(`""`, 5<<20),
		"one endless line": strings.Repeat("x", 10<<20),
		"blank lines":      strings.Repeat("\n", 1<<20),
	}
	for name, in := range tests {
		t.Run(name, func(t *testing.T) {
			rec, err := ParseRecord([]byte(in))
			if err != nil {
				if !errors.Is(err, CodeRecordMalformed) {
					t.Error(err)
				}
				if len(err.Error()) > 500 {
					t.Errorf("a message of %d bytes", len(err.Error()))
				}
				return
			}
			rec.Digest()
			rec.Conflicts()
			dir := t.TempDir()
			d := &Distribution{Site: dir, Prefix: dir, Record: rec}
			inv, err := d.Inventory(t.Context())
			must(t, err)
			if len(inv.Files) != 0 {
				t.Errorf("found %d files", len(inv.Files))
			}
		})
	}
}

func TestInventoryNeedsFind(t *testing.T) {
	if _, err := (&Distribution{}).Inventory(t.Context()); !errors.Is(err, CodeInvalidArgument) {
		t.Error(err)
	}
	if _, err := (&Distribution{}).Verify(t.Context()); !errors.Is(err, CodeInvalidArgument) {
		t.Error(err)
	}
}

// Messages stay on one line and printable, whatever files are called.
func TestErrorsArePrintable(t *testing.T) {
	root := t.TempDir()
	must(t, os.Symlink("x", filepath.Join(root, "a\x1b[31m\nb\xff")))
	_, err := Tree(t.Context(), root, TreeOptions{})
	for _, r := range err.Error() {
		if r < ' ' || r > '~' {
			t.Fatalf("%q in %q", r, err)
		}
	}
	var e *Error
	if !errors.As(err, &e) || filepath.Base(e.Path) != "a\x1b[31m\nb\xff" {
		t.Errorf("Path must be the bytes: %q", e.Path)
	}
}
