package probe

import (
	"os"
	"path/filepath"
	"testing"
)

func TestRemoveScratchDeep(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	// Deeper than a path may be long; each level cannot be entered as it is left.
	const depth = 1500
	at := root
	var opened []*os.Root
	for range depth {
		if err := at.Mkdir("deep-directory", 0o700); err != nil {
			t.Fatal(err)
		}
		if at, err = at.OpenRoot("deep-directory"); err != nil {
			t.Fatal(err)
		}
		opened = append(opened, at)
	}
	for i := len(opened) - 1; i >= 0; i-- {
		if err := opened[i].Chmod(".", 0o500); err != nil {
			t.Fatal(err)
		}
		_ = opened[i].Close()
	}
	if err := removeScratch(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(dir); err == nil {
		t.Error("the directory is still there")
	}
}

func TestFlattenFollowsNoLink(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	kept := filepath.Join(outside, "kept")
	if err := os.WriteFile(kept, nil, 0o400); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"a/b/c", "a/.1", ".2", "e"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, l := range []string{"link", "a/link", "a/b/link", "a/b/c/link"} {
		if err := os.Symlink(outside, filepath.Join(dir, l)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(dir, "a", "b"), 0); err != nil {
		t.Fatal(err)
	}
	if err := flatten(dir); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("%v are left, %v", left, err)
	}
	if info, err := os.Stat(kept); err != nil || info.Mode().Perm() != 0o400 {
		t.Errorf("a file outside was touched: %v, %v", info, err)
	}
}

func TestMakeScratchFails(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if dir, err := makeScratch(file); err == nil {
		t.Errorf("a scratch directory below a file: %s", dir)
	}
}
