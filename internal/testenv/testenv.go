// Package testenv is what this project's tests share: skips that say what kind
// they are, and copies of test data.
package testenv

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// Skip ends the test as skipped. bucket is one lower-case word naming what the
// host lacks; CI fails on a skip that .ci/approved-skips does not list.
func Skip(t testing.TB, bucket, reason string) {
	t.Helper()
	t.Skipf("SKIP[%s] %s", bucket, reason)
}

// CopyTree copies the regular files, directories and symbolic links below src
// into a new temporary directory and returns it. Files keep their owner's
// execute bit and become writable.
func CopyTree(t testing.TB, src string) string {
	t.Helper()
	dst := t.TempDir()
	CopyTreeTo(t, src, dst)
	return dst
}

// CopyTreeTo is CopyTree into an existing directory.
func CopyTreeTo(t testing.TB, src, dst string) {
	t.Helper()
	err := filepath.WalkDir(src, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(src, path)
		if err != nil {
			return err
		}
		return copyEntry(path, filepath.Join(dst, rel), d)
	})
	if err != nil {
		t.Fatalf("copy %s: %v", src, err)
	}
}

func copyEntry(from, to string, d fs.DirEntry) error {
	switch {
	case d.IsDir():
		return os.MkdirAll(to, 0o755)
	case d.Type()&fs.ModeSymlink != 0:
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	info, err := d.Info()
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o644|info.Mode().Perm()&0o111)
}

// RepoRoot returns the directory that holds go.mod, found upwards from the
// test's own directory.
func RepoRoot(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("no go.mod above the test's directory")
		}
		dir = parent
	}
}
