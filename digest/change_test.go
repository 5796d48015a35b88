//go:build unix

package digest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// walkWith walks root and calls at before each file is visited.
func walkWith(t *testing.T, root string, at func(path string)) error {
	t.Helper()
	fd, id, err := openRoot(opTree, root)
	if err != nil {
		t.Fatal(err)
	}
	w := &walker{ctx: t.Context(), op: opTree, root: root, maxDepth: 100}
	w.visit = func(dir *dirHandle, path []byte, name int) error {
		at(string(path))
		fd, _, err := regularAt(opTree, root+"/"+string(path), dir.fd, string(path[name:]))
		if err == nil {
			_ = unix.Close(fd)
		}
		return err
	}
	return w.run(fd, id)
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// age makes the next change of each path visible: kernels without fine-grained
// timestamps give two changes within one clock tick, up to 10 ms, one time.
func age(t *testing.T, paths ...string) {
	t.Helper()
	for _, p := range paths {
		must(t, os.Chtimes(p, time.Unix(1, 0), time.Unix(1, 0)))
	}
	time.Sleep(20 * time.Millisecond)
}

// Each case changes a tree of a/f, b/f, c at the moment that a/f is visited.
func TestTreeChangesDuringWalk(t *testing.T) {
	tests := []struct {
		name   string
		change func(t *testing.T, root string)
		want   Code
		path   string
	}{
		{"nothing", func(*testing.T, string) {}, "", ""},
		{"bytecode appears", func(t *testing.T, root string) {
			write(t, filepath.Join(root, "a", "__pycache__", "x.pyc"), "")
		}, "", ""},
		{"file comes to a directory in use", func(t *testing.T, root string) {
			write(t, filepath.Join(root, "a", "new"), "")
		}, CodeChanged, "a/new"},
		{"file comes to a directory not yet listed", func(t *testing.T, root string) {
			write(t, filepath.Join(root, "b", "new"), "")
		}, "", ""},
		{"file goes", func(t *testing.T, root string) {
			must(t, os.Remove(filepath.Join(root, "c")))
		}, CodeChanged, "c"},
		{"file is replaced by another", func(t *testing.T, root string) {
			write(t, filepath.Join(root, "tmp"), "other")
			must(t, os.Rename(filepath.Join(root, "tmp"), filepath.Join(root, "c")))
		}, CodeChanged, "c"},
		{"file becomes a link", func(t *testing.T, root string) {
			must(t, os.Remove(filepath.Join(root, "c")), os.Symlink("/etc/passwd", filepath.Join(root, "c")))
		}, CodeNotRegular, "c"},
		{"file becomes a FIFO", func(t *testing.T, root string) {
			must(t, os.Remove(filepath.Join(root, "c")), unix.Mkfifo(filepath.Join(root, "c"), 0o644))
		}, CodeNotRegular, "c"},
		{"file becomes a directory", func(t *testing.T, root string) {
			must(t, os.Remove(filepath.Join(root, "c")), os.Mkdir(filepath.Join(root, "c"), 0o755))
		}, CodeNotRegular, "c"},
		{"directory becomes a link", func(t *testing.T, root string) {
			must(t, os.Rename(filepath.Join(root, "b"), filepath.Join(root, "..", "was-b")), os.Symlink("/etc", filepath.Join(root, "b")))
		}, CodeNotRegular, "b"},
		{"directory becomes a file", func(t *testing.T, root string) {
			must(t, os.RemoveAll(filepath.Join(root, "b")), os.WriteFile(filepath.Join(root, "b"), nil, 0o644))
		}, CodeChanged, "b"},
		{"directory goes", func(t *testing.T, root string) {
			must(t, os.RemoveAll(filepath.Join(root, "b")))
		}, CodeChanged, "b"},
		{"directory in use is moved and replaced", func(t *testing.T, root string) {
			must(t, os.Rename(filepath.Join(root, "a"), filepath.Join(root, "..", "was-a")))
			write(t, filepath.Join(root, "a", "f"), "")
		}, CodeChanged, "a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := filepath.Join(t.TempDir(), "root")
			for _, p := range []string{"a/f", "b/f", "c"} {
				write(t, filepath.Join(root, p), p)
			}
			age(t, root, filepath.Join(root, "a"), filepath.Join(root, "b"))
			err := walkWith(t, root, func(path string) {
				if path == "a/f" {
					tt.change(t, root)
				}
			})
			if tt.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			var e *Error
			if !errors.As(err, &e) || !errors.Is(err, tt.want) || e.Path != filepath.Join(root, tt.path) {
				t.Errorf("got %v, want %s of %s", err, tt.want, tt.path)
			}
		})
	}
}

// A parent whose descriptor was given up must come back as the same directory.
func TestTreeMovedAncestor(t *testing.T) {
	base := t.TempDir()
	root := filepath.Join(base, "root")
	deep := strings.Repeat("/d", maxOpenDirs+8)
	write(t, root+deep+"/f", "x")
	write(t, root+"/d/z", "after")
	err := walkWith(t, root, func(path string) {
		if strings.HasSuffix(path, "/f") {
			// The third level goes elsewhere; its .. now leads to another place.
			must(t, os.Mkdir(filepath.Join(base, "other"), 0o755), os.Rename(root+"/d/d/d", filepath.Join(base, "other", "d")))
		}
	})
	var e *Error
	if !errors.As(err, &e) || e.Code != CodeChanged || !strings.Contains(e.Detail, "moved") {
		t.Errorf("got %v", err)
	}
}

func TestFileChangesWhileRead(t *testing.T) {
	tests := []struct {
		name   string
		change func(path string) error
		want   Code
	}{
		{"nothing", func(string) error { return nil }, ""},
		{"grows", func(p string) error { return appendTo(p, "x") }, CodeChanged},
		{"shrinks", func(p string) error { return os.Truncate(p, blockSize+1) }, CodeChanged},
		{"same size, other bytes", func(p string) error { return overwrite(p) }, CodeChanged},
		{"mode", func(p string) error { return os.Chmod(p, 0o755) }, CodeChanged},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "f")
			write(t, path, strings.Repeat("a", 3*blockSize))
			age(t, path)
			fd, st, err := regularAt(opTree, path, unix.AT_FDCWD, path)
			must(t, err)
			defer unix.Close(fd) //nolint:errcheck // test
			changed := false
			err = readAll(t.Context(), opTree, path, fd, &st, make([]byte, blockSize), func([]byte) {
				if !changed {
					changed = true
					must(t, tt.change(path))
				}
			})
			if tt.want == "" && err != nil || tt.want != "" && !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func appendTo(p, s string) error {
	f, err := os.OpenFile(p, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(s)
	return errors.Join(err, f.Close())
}

func overwrite(p string) error {
	f, err := os.OpenFile(p, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte("b"), 0)
	return errors.Join(err, f.Close())
}

// Sizes around the block, where the read that finds the end is a special case.
func TestReadAllSizes(t *testing.T) {
	dir := t.TempDir()
	for _, size := range []int{0, 1, blockSize - 1, blockSize, blockSize + 1, 2*blockSize - 1, 2 * blockSize, 2*blockSize + 1} {
		write(t, filepath.Join(dir, "f"), strings.Repeat("s", size))
		if res := mustTree(t, dir, TreeOptions{}); res.Digest.String() != naiveTree(t, dir) || res.Bytes != int64(size) {
			t.Errorf("size %d: %+v", size, res)
		}
	}
}

// Files of /proc say that they are empty and aren't; those of /sys say that they
// are a page and aren't.
func TestFilesThatLieAboutTheirSize(t *testing.T) {
	for _, path := range []string{"/proc/self/status", "/sys/kernel/mm/transparent_hugepage/enabled"} {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			t.Logf("no %s here", path)
			continue
		}
		if _, err := Executable(t.Context(), path); !errors.Is(err, CodeChanged) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// While a directory is swapped for a link and back, each result is the tree's
// true digest or a refusal, and never has what the link leads to.
func TestTreeSwappedForLink(t *testing.T) {
	base := t.TempDir()
	root := filepath.Join(base, "root")
	outside := filepath.Join(base, "outside")
	write(t, filepath.Join(root, "a", "f"), "inside")
	write(t, filepath.Join(root, "b", "f"), "inside")
	write(t, filepath.Join(outside, "f"), "outside")
	want := mustTree(t, root, TreeOptions{}).Digest
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		a, away := filepath.Join(root, "a"), filepath.Join(base, "away")
		for {
			select {
			case <-stop:
				return
			default:
			}
			_ = os.Rename(a, away)
			_ = os.Symlink(outside, a)
			_ = os.Remove(a)
			_ = os.Rename(away, a)
		}
	})
	good := 0
	for range 500 {
		res, err := Tree(t.Context(), root, TreeOptions{})
		switch {
		case err == nil && res.Digest == want:
			good++
		case err == nil && res.Files == 1:
			// a was away for the whole of the measurement: a true answer too.
		case err == nil:
			t.Fatalf("a digest of something else: %+v", res)
		case !errors.Is(err, CodeNotRegular) && !errors.Is(err, CodeChanged):
			t.Fatal(err)
		}
	}
	close(stop)
	wg.Wait()
	t.Logf("%d of 500 were measured", good)
}

// A file that a writer appends to all the time has no digest.
func TestTreeGrowingFile(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, "log")
	write(t, path, "")
	must(t, os.Truncate(path, 64<<20))
	stop := make(chan struct{})
	started := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			close(started)
			return
		}
		defer f.Close() //nolint:errcheck // test
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				_, _ = f.WriteString("x")
			}
			if i == 0 {
				close(started)
			}
		}
	})
	<-started
	refused(t, root, TreeOptions{}, CodeChanged, "log")
	close(stop)
	wg.Wait()
}
