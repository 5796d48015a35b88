//go:build unix

package digest

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-measure/provider-measure/internal/testenv"
)

// naiveTree is the format's definition, written as plainly as possible and with
// nothing in common with the code under test.
func naiveTree(t testing.TB, root string, exclude ...string) string {
	t.Helper()
	var paths []string
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, p)
		switch {
		case slices.Contains(exclude, rel) && d.IsDir(), d.IsDir() && d.Name() == "__pycache__":
			return fs.SkipDir
		case d.Type().IsRegular() && !slices.Contains(exclude, rel):
			paths = append(paths, rel)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(paths)
	var pre []byte
	pre = append(pre, "provider-measure.source-tree.v1\x00"...)
	for _, p := range paths {
		b, err := os.ReadFile(filepath.Join(root, p))
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(filepath.Join(root, p))
		if err != nil {
			t.Fatal(err)
		}
		pre = binary.BigEndian.AppendUint64(pre, uint64(len(p)))
		pre = append(pre, p...)
		pre = append(pre, byte(info.Mode().Perm()>>6&1))
		pre = binary.BigEndian.AppendUint64(pre, uint64(len(b)))
		sum := sha256.Sum256(b)
		pre = append(pre, sum[:]...)
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256(pre))
}

func mustTree(t testing.TB, root string, opts TreeOptions) TreeResult {
	t.Helper()
	res, err := Tree(t.Context(), root, opts)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// refused asserts the code, the name, and the zero value.
func refused(t *testing.T, root string, opts TreeOptions, code Code, name string) {
	t.Helper()
	res, err := Tree(t.Context(), root, opts)
	var e *Error
	if !errors.Is(err, code) || !errors.As(err, &e) {
		t.Fatalf("got %+v, %v; want %s", res, err, code)
	}
	if filepath.Base(e.Path) != name {
		t.Errorf("names %q, want %q", e.Path, name)
	}
	if diff := cmp.Diff(TreeResult{}, res); diff != "" {
		t.Error("not the zero value:", diff)
	}
}

func TestInputTrees(t *testing.T) {
	digests := map[string]string{}
	for _, name := range []string{"concat-1", "concat-2", "crlf-1", "crlf-2", "mode-644", "mode-755", "pycache", "newline", "nfc", "nfd"} {
		root := data(t, "inputs", "tree", name)
		res := mustTree(t, root, TreeOptions{})
		if want := naiveTree(t, root); res.Digest.String() != want {
			t.Errorf("%s: %s, want %s", name, res.Digest, want)
		}
		for other, d := range digests {
			if d == res.Digest.String() {
				t.Errorf("%s and %s have one digest", name, other)
			}
		}
		digests[name] = res.Digest.String()
	}
	for name, link := range map[string]string{"loop": "self", "dangling": "d"} {
		root := testenv.CopyTree(t, data(t, "inputs", "tree", name))
		relink(t, filepath.Join(root, link))
		refused(t, root, TreeOptions{}, CodeNotRegular, link)
	}
	entries, err := os.ReadDir(data(t, "inputs", "tree"))
	if err != nil || len(entries) != len(digests)+2 {
		t.Errorf("%d cases, %d tested: %v", len(entries), len(digests)+2, err)
	}
}

func TestInputTreeDetails(t *testing.T) {
	in := func(name string) string { return data(t, "inputs", "tree", name) }
	t.Run("pycache", func(t *testing.T) {
		root := testenv.CopyTree(t, in("pycache"))
		before := mustTree(t, root, TreeOptions{}).Digest
		write(t, filepath.Join(root, "__pycache__", "new.pyc"), "new")
		write(t, filepath.Join(root, "sub", "__pycache__", "new.pyc"), "new")
		if after := mustTree(t, root, TreeOptions{}).Digest; after != before {
			t.Error("bytecode changed the digest")
		}
		write(t, filepath.Join(root, "sub", "__pycache__x"), "not it")
		if after := mustTree(t, root, TreeOptions{}); after.Files != 2 {
			t.Errorf("%d files", after.Files)
		}
	})
	t.Run("a file called __pycache__ counts", func(t *testing.T) {
		root := t.TempDir()
		write(t, filepath.Join(root, "__pycache__"), "x")
		if res := mustTree(t, root, TreeOptions{}); res.Files != 1 {
			t.Errorf("%d files", res.Files)
		}
	})
	t.Run("modes", func(t *testing.T) {
		root := testenv.CopyTree(t, in("mode-644"))
		base := mustTree(t, root, TreeOptions{}).Digest
		for mode, same := range map[fs.FileMode]bool{0o600: true, 0o666: true, 0o655: true, 0o744: false, 0o700: false} {
			if err := os.Chmod(filepath.Join(root, "run.sh"), mode); err != nil {
				t.Fatal(err)
			}
			if got := mustTree(t, root, TreeOptions{}).Digest; (got == base) != same {
				t.Errorf("mode %o: equal %v, want %v", mode, got == base, same)
			}
		}
	})
	t.Run("newline", func(t *testing.T) {
		res := mustTree(t, in("newline"), TreeOptions{CollectFiles: true})
		if res.Files != 3 || res.Entries[1].Path != "a\nb" {
			t.Errorf("got %+v", res.Entries)
		}
		_, err := Tree(t.Context(), in("newline")+"/a\nb", TreeOptions{})
		if !errors.Is(err, CodeNotDirectory) || strings.Contains(err.Error(), "\n") {
			t.Errorf("got %q", err)
		}
	})
	t.Run("line endings", func(t *testing.T) {
		for _, tt := range []struct {
			a, b string
			want bool
		}{{"crlf-1", "crlf-2", true}, {"crlf-2", "crlf-1", true}, {"crlf-1", "crlf-1", false}, {"concat-1", "concat-2", false}, {"mode-644", "mode-755", false}, {"nfc", "nfd", false}} {
			got, err := TreesDifferOnlyInLineEndings(t.Context(), in(tt.a), in(tt.b), TreeOptions{})
			if err != nil || got != tt.want {
				t.Errorf("%s %s: %v %v", tt.a, tt.b, got, err)
			}
			recorded := mustTree(t, in(tt.b), TreeOptions{CollectFiles: true}).Entries
			got, err = LineEndingsOnly(t.Context(), in(tt.a), recorded, TreeOptions{})
			if err != nil || got != tt.want {
				t.Errorf("%s against the list of %s: %v %v", tt.a, tt.b, got, err)
			}
		}
	})
}

func TestTreeEmpty(t *testing.T) {
	root := t.TempDir()
	a := mustTree(t, root, TreeOptions{})
	if err := os.MkdirAll(filepath.Join(root, "empty", "er"), 0o755); err != nil {
		t.Fatal(err)
	}
	b := mustTree(t, root, TreeOptions{})
	if a.Digest != b.Digest || a.Files != 0 || a.Digest.String() != naiveTree(t, root) {
		t.Errorf("%+v %+v", a, b)
	}
}

// The order of depth-first walking must be the byte order of whole paths.
func TestTreeOrder(t *testing.T) {
	root := t.TempDir()
	for _, p := range []string{"a/z", "a.b", "a-b/x", "a0", "a", "aa", "b/c/d", "b/c.d", "b/c0", "b/c-", "\xff/\xfe", "é", "b!/x"} {
		if p == "a" {
			continue // is the directory
		}
		write(t, filepath.Join(root, p), p)
	}
	res := mustTree(t, root, TreeOptions{CollectFiles: true, Workers: 3})
	var got []string
	for _, e := range res.Entries {
		got = append(got, e.Path)
	}
	if !slices.IsSorted(got) || len(got) != 12 {
		t.Errorf("order: %q", got)
	}
	if want := naiveTree(t, root); res.Digest.String() != want {
		t.Errorf("%s, want %s", res.Digest, want)
	}
	for _, workers := range []int{1, 2, 16, 200} {
		if again := mustTree(t, root, TreeOptions{Workers: workers}); again.Digest != res.Digest {
			t.Errorf("%d workers change the digest", workers)
		}
	}
}

// special makes an entry of one type at path.
func special(t *testing.T, kind, path string) {
	t.Helper()
	var err error
	switch kind {
	case "fifo":
		err = syscall.Mkfifo(path, 0o644)
	case "socket":
		// Bound relative to its directory: paths of sockets are short.
		t.Chdir(filepath.Dir(path))
		var l net.Listener
		if l, err = net.Listen("unix", filepath.Base(path)); err == nil {
			t.Cleanup(func() { _ = l.Close() })
		}
	case "device":
		if os.Geteuid() != 0 {
			testenv.Skip(t, "root", "mknod needs root")
		}
		err = makeDevice(path)
		if errors.Is(err, syscall.EPERM) {
			testenv.Skip(t, "mknod", "this sandbox forbids device nodes")
		}
	case "link":
		err = os.Symlink("nowhere", path)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestTreeRefusesSpecial(t *testing.T) {
	for _, kind := range []string{"fifo", "socket", "device", "link"} {
		t.Run(kind, func(t *testing.T) {
			root := t.TempDir()
			write(t, filepath.Join(root, "z", "ok"), "ok")
			odd := filepath.Join(root, "z", "odd")
			special(t, kind, odd)
			refused(t, root, TreeOptions{}, CodeNotRegular, "odd")
			if res := mustTree(t, root, TreeOptions{Exclude: []string{"z/odd"}}); res.Files != 1 {
				t.Errorf("excluded, yet %d files", res.Files)
			}
			if err := os.Symlink("z/odd", filepath.Join(root, "a")); err != nil {
				t.Fatal(err)
			}
			refused(t, root, TreeOptions{}, CodeNotRegular, "a")
			refused(t, odd, TreeOptions{}, CodeNotRegular, "odd")
			_, err := Executable(t.Context(), filepath.Join(root, "a"))
			want := CodeNotRegular
			if kind == "link" {
				want = CodeNotFound
			}
			if !errors.Is(err, want) {
				t.Errorf("executable: %v", err)
			}
		})
	}
}

func TestTreeRoots(t *testing.T) {
	dir := t.TempDir()
	root := filepath.Join(dir, "root")
	write(t, filepath.Join(root, "f"), "x")
	if err := os.Symlink("root", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dir, filepath.Join(dir, "up")); err != nil {
		t.Fatal(err)
	}
	refused(t, filepath.Join(dir, "link"), TreeOptions{}, CodeNotRegular, "link")
	refused(t, filepath.Join(dir, "link")+"/", TreeOptions{}, CodeNotRegular, "link")
	refused(t, filepath.Join(root, "f"), TreeOptions{}, CodeNotDirectory, "f")
	refused(t, filepath.Join(root, "absent"), TreeOptions{}, CodeNotFound, "absent")
	refused(t, "", TreeOptions{}, CodeInvalidArgument, ".")
	refused(t, root+"\x00", TreeOptions{}, CodeInvalidArgument, "root\x00")
	refused(t, root, TreeOptions{Workers: -1}, CodeInvalidArgument, ".")
	if res := mustTree(t, filepath.Join(dir, "up", "root"), TreeOptions{}); res.Files != 1 {
		t.Error("a link on the way to the root is no fault")
	}
	t.Chdir(root)
	if res := mustTree(t, ".", TreeOptions{}); res.Root != root {
		t.Errorf("root %s", res.Root)
	}
}

func TestTreeUnreadable(t *testing.T) {
	if os.Geteuid() == 0 {
		testenv.Skip(t, "unprivileged", "root reads everything")
	}
	root := t.TempDir()
	write(t, filepath.Join(root, "ok"), "")
	write(t, filepath.Join(root, "secret"), "")
	if err := os.Chmod(filepath.Join(root, "secret"), 0); err != nil {
		t.Fatal(err)
	}
	refused(t, root, TreeOptions{}, CodePermission, "secret")
	if _, err := Executable(t.Context(), filepath.Join(root, "secret")); !errors.Is(err, CodePermission) {
		t.Errorf("got %v", err)
	}
	locked := filepath.Join(root, "a")
	if err := os.Mkdir(locked, 0); err != nil {
		t.Fatal(err)
	}
	refused(t, root, TreeOptions{}, CodePermission, "a")
	if err := os.Chmod(locked, 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestTreeExclusions(t *testing.T) {
	root := t.TempDir()
	for _, p := range []string{"a/b", "a/c/d", "a/c/e", "f", "ab"} {
		write(t, filepath.Join(root, p), p)
	}
	res := mustTree(t, root, TreeOptions{Exclude: []string{"a/c", "f"}})
	if want := naiveTree(t, root, "a/c", "f"); res.Digest.String() != want || res.Files != 2 {
		t.Errorf("%+v, want %s", res, want)
	}
	for _, bad := range []string{"", "/a", "a/", "a//b", "./a", "a/..", "..", ".", "a\x00", "__pycache__/x", "a/./b"} {
		if _, err := Tree(t.Context(), root, TreeOptions{Exclude: []string{bad}}); !errors.Is(err, CodeExclusionInvalid) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	for _, bad := range [][]string{{"f", "f"}} {
		if _, err := Tree(t.Context(), root, TreeOptions{Exclude: bad}); !errors.Is(err, CodeExclusionInvalid) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	for _, unused := range []string{"absent", "a/c/d/e", "A"} {
		if _, err := Tree(t.Context(), root, TreeOptions{Exclude: []string{unused}}); !errors.Is(err, CodeExclusionUnused) {
			t.Errorf("%q: %v", unused, err)
		}
	}
	if _, err := PythonPackage(t.Context(), []string{root}, "a:b", TreeOptions{Exclude: []string{"a"}}); !errors.Is(err, CodeExclusionInvalid) {
		t.Error(err)
	}
}

// A tree deeper than PATH_MAX and than the descriptors a walk keeps.
func TestTreeDeep(t *testing.T) {
	root := t.TempDir()
	const depth = 300
	name := strings.Repeat("d", 40)
	t.Chdir(root)
	for i := range depth {
		write(t, "f"+fmt.Sprint(i), "x")
		write(t, "zz", "after")
		if err := os.Mkdir(name, 0o755); err != nil {
			t.Fatal(err)
		}
		t.Chdir(name) // relative: the whole path is too long for one call
	}
	t.Chdir(root)
	res := mustTree(t, root, TreeOptions{})
	if res.Files != 2*depth {
		t.Errorf("%d files, want %d", res.Files, 2*depth)
	}
	if _, err := Tree(t.Context(), root, TreeOptions{MaxDepth: depth - 1}); !errors.Is(err, CodeTooDeep) {
		t.Errorf("got %v", err)
	}
	mustTree(t, root, TreeOptions{MaxDepth: depth})
	removeDeep(t, root, name)
}

// removeDeep takes apart what os.RemoveAll of a TempDir might be slow with.
func removeDeep(t *testing.T, root, name string) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(root, name)); err != nil {
		t.Fatal(err)
	}
}

func TestTreeCancelled(t *testing.T) {
	root := t.TempDir()
	sparse := filepath.Join(root, "sparse")
	write(t, sparse, "")
	if err := os.Truncate(sparse, 1<<40); err != nil {
		testenv.Skip(t, "sparse", "the file system has no sparse files of a terabyte")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := Tree(ctx, root, TreeOptions{})
	if !errors.Is(err, CodeCancelled) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if _, err := Executable(ctx, sparse); !errors.Is(err, CodeCancelled) {
		t.Errorf("got %v", err)
	}
	if d := time.Since(start); d > 10*time.Second {
		t.Errorf("took %s", d)
	}
}

// The first fault in path order is reported, however the workers are scheduled.
func TestTreeFirstFault(t *testing.T) {
	root := t.TempDir()
	for i := range 200 {
		write(t, filepath.Join(root, fmt.Sprintf("f%03d", i)), "x")
	}
	for _, n := range []string{"f050x", "f150x"} {
		if err := os.Symlink("x", filepath.Join(root, n)); err != nil {
			t.Fatal(err)
		}
	}
	for range 20 {
		refused(t, root, TreeOptions{Workers: 4}, CodeNotRegular, "f050x")
	}
}

// The same for faults that the workers find.
func TestTreeFirstFaultOfWorkers(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "ok"), "x")
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		p := newPipeline(ctx, root, TreeOptions{Workers: 4})
		res, err := p.combine(cancel, func() error {
			fd, _, err := openRoot(opTree, root)
			if err != nil {
				return err
			}
			dir := newDirHandle(fd)
			defer dir.release()
			for _, name := range []string{"ok", "ok", "gone-1", "ok", "gone-2", "gone-3", "ok"} {
				if err := p.submit(dir, []byte(name), 0); err != nil {
					return err
				}
			}
			return nil
		})
		cancel()
		var e *Error
		if !errors.As(err, &e) || e.Code != CodeChanged || filepath.Base(e.Path) != "gone-1" || res.Files != 0 {
			t.Fatalf("got %+v, %v", res, err)
		}
	}
}
