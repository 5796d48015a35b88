//go:build unix

package digest

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

const (
	// maxOpenDirs bounds the descriptors that a deep walk keeps for ancestors.
	// Older ones are closed and come back through "..", checked by inode.
	maxOpenDirs = 32
	// defaultMaxDepth is far above any real source tree, and bounds the path
	// buffer and the listings kept for ancestors.
	defaultMaxDepth = 4096
	direntBuffer    = 32 << 10
)

// dirHandle is an open directory, shared by the walker and the files below it
// that are waiting to be opened.
type dirHandle struct {
	fd   int
	refs atomic.Int32
}

func newDirHandle(fd int) *dirHandle {
	h := &dirHandle{fd: fd}
	h.refs.Store(1)
	return h
}

func (h *dirHandle) retain() *dirHandle { h.refs.Add(1); return h }

func (h *dirHandle) release() {
	if h.refs.Add(-1) == 0 {
		_ = unix.Close(h.fd)
	}
}

// frame is one directory on the way from the root to where the walk is.
type frame struct {
	dir     *dirHandle // nil while closed to save descriptors
	id      FileID
	list    listing
	next    int
	pathLen int // of the directory's own path and its slash
}

// walker visits the regular files below a root in byte order of their paths.
type walker struct {
	ctx      context.Context //nolint:containedctx // lives for one call
	op       string
	root     string
	maxDepth int
	exclude  *exclusions
	// visit gets each regular file: its directory, its path, and where in the
	// path the last name starts. The path is valid during the call only.
	visit func(dir *dirHandle, path []byte, name int) error

	frames []frame
	open   int // how many frames have a descriptor
	path   []byte
	buf    []byte
}

func (w *walker) full(path []byte) string { return w.root + "/" + string(path) }

// openRoot opens root itself, which may be reached through links but must not
// be one.
func openRoot(op, root string) (int, FileID, error) {
	var st, now unix.Stat_t
	if err := lstatat(unix.AT_FDCWD, root, &st); err != nil {
		return -1, FileID{}, sysFail(op, root, err)
	}
	switch k := kindOf(&st); k {
	case kindDirectory:
	case kindRegular:
		return -1, FileID{}, fail(CodeNotDirectory, op, root, "regular file, not a directory")
	default:
		return -1, FileID{}, fail(CodeNotRegular, op, root, "root is a %s, not a directory", k)
	}
	fd, err := openat(unix.AT_FDCWD, root, openDir)
	if err != nil {
		return -1, FileID{}, sysFail(op, root, err)
	}
	if err := fstat(fd, &now); err != nil {
		_ = unix.Close(fd)
		return -1, FileID{}, sysFail(op, root, err)
	}
	if !fileID(&now).Same(fileID(&st)) {
		_ = unix.Close(fd)
		return -1, FileID{}, fail(CodeChanged, op, root, "replaced while it was opened")
	}
	return fd, fileID(&now), nil
}

// absolute returns root as an absolute clean path. Clean matters: lstat of
// "link/" would look through the link.
func absolute(op, root string) (string, error) {
	if root == "" {
		return "", fail(CodeInvalidArgument, op, "", "empty path")
	}
	if strings.IndexByte(root, 0) >= 0 {
		return "", fail(CodeInvalidArgument, op, root, "path holds NUL")
	}
	abs, err := filepath.Abs(root)
	if err != nil {
		return "", sysFail(op, root, err)
	}
	return abs, nil
}

// run walks the tree whose root directory is fd. It takes over fd.
func (w *walker) run(fd int, id FileID) error {
	w.buf = make([]byte, direntBuffer)
	defer func() {
		for i := range w.frames {
			if d := w.frames[i].dir; d != nil {
				d.release()
			}
		}
	}()
	if err := w.push(fd, id); err != nil {
		return err
	}
	for len(w.frames) > 0 {
		if err := cancelled(w.ctx, w.op); err != nil {
			return err
		}
		f := &w.frames[len(w.frames)-1]
		if f.next == len(f.list.entries) {
			if err := w.pop(); err != nil {
				return err
			}
			continue
		}
		e := f.list.entries[f.next]
		f.next++
		w.path = append(w.path[:f.pathLen], f.list.name(e)...)
		if err := w.step(f, e.kind); err != nil {
			return err
		}
	}
	return nil
}

// step handles the entry at w.path.
func (w *walker) step(f *frame, kind entryKind) error {
	if w.exclude != nil && w.exclude.match(w.path) {
		return nil
	}
	switch kind {
	case kindRegular:
		return w.visit(f.dir, w.path, f.pathLen)
	case kindDirectory:
		return w.enter(f)
	case kindGone:
		return fail(CodeChanged, w.op, w.full(w.path), "disappeared while it was measured")
	default:
		return fail(CodeNotRegular, w.op, w.full(w.path), "%s", kind)
	}
}

func (w *walker) enter(f *frame) error {
	if len(w.frames) > w.maxDepth {
		return fail(CodeTooDeep, w.op, w.full(w.path), "more than %d directories deep", w.maxDepth)
	}
	name := string(w.path[f.pathLen:])
	fd, err := openat(f.dir.fd, name, openDir)
	if err != nil {
		return w.replaced(f.dir.fd, name, err)
	}
	var st unix.Stat_t
	if err := fstat(fd, &st); err != nil {
		_ = unix.Close(fd)
		return sysFail(w.op, w.full(w.path), err)
	}
	w.path = append(w.path, '/')
	return w.push(fd, fileID(&st))
}

// replaced says why an entry that was listed as a directory did not open as
// one: it may be something else by now.
func (w *walker) replaced(dirfd int, name string, err error) error {
	return replacedEntry(w.op, w.full(w.path), dirfd, name, kindDirectory, err)
}

// replacedEntry explains an open that failed for an entry listed as kind want.
func replacedEntry(op, path string, dirfd int, name string, want entryKind, err error) error {
	if errors.Is(err, unix.ENOENT) {
		return fail(CodeChanged, op, path, "disappeared while it was measured")
	}
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ENXIO) {
		now, lerr := kindAt(dirfd, name)
		switch {
		case lerr != nil:
		case now == want || now == kindGone || now == kindRegular || now == kindDirectory:
			return fail(CodeChanged, op, path, "replaced while it was measured")
		default:
			return fail(CodeNotRegular, op, path, "%s, put there while the tree was measured", now)
		}
	}
	return sysFail(op, path, err)
}

// push lists the directory fd, whose path and slash are in w.path, and makes it
// the current one.
func (w *walker) push(fd int, id FileID) error {
	dir := newDirHandle(fd)
	l, err := list(fd, w.buf)
	if err != nil {
		dir.release()
		if errors.Is(err, unix.E2BIG) {
			return fail(CodeTooLarge, w.op, w.full(w.path), "more than %d bytes of names in one directory", maxDirBytes)
		}
		return sysFail(w.op, strings.TrimSuffix(w.full(w.path), "/"), err)
	}
	w.frames = append(w.frames, frame{dir: dir, id: id, list: l, pathLen: len(w.path)})
	w.open++
	if w.open > maxOpenDirs {
		old := &w.frames[len(w.frames)-w.open]
		old.dir.release()
		old.dir = nil
		w.open--
	}
	return nil
}

// pop leaves the current directory. It makes sure that the names are still
// those that were measured, and opens the parent again if it was closed.
func (w *walker) pop() error {
	top := len(w.frames) - 1
	f := &w.frames[top]
	if err := w.settled(f); err != nil {
		return err
	}
	if top > 0 && w.frames[top-1].dir == nil {
		if err := w.reopen(f, &w.frames[top-1]); err != nil {
			return err
		}
	}
	f.dir.release()
	w.frames[top] = frame{}
	w.frames = w.frames[:top]
	w.open--
	return nil
}

func (w *walker) reopen(child, parent *frame) error {
	path := w.root + "/" + string(w.path[:parent.pathLen])
	fd, err := openat(child.dir.fd, "..", openDir)
	if err != nil {
		return sysFail(w.op, path, err)
	}
	var st unix.Stat_t
	if err := fstat(fd, &st); err != nil {
		_ = unix.Close(fd)
		return sysFail(w.op, path, err)
	}
	if !fileID(&st).Same(parent.id) {
		_ = unix.Close(fd)
		return fail(CodeChanged, w.op, path, "a directory was moved while the tree was measured")
	}
	parent.dir = newDirHandle(fd)
	w.open++
	return nil
}

// settled fails if the names in f changed since it was listed. Bytecode that
// came in the meantime is not a change: measuring and running at one time is
// normal.
func (w *walker) settled(f *frame) error {
	path := strings.TrimSuffix(w.root+"/"+string(w.path[:f.pathLen]), "/")
	var st unix.Stat_t
	if err := fstat(f.dir.fd, &st); err != nil {
		return sysFail(w.op, path, err)
	}
	now := fileID(&st)
	if now.MtimeNS == f.id.MtimeNS && now.CtimeNS == f.id.CtimeNS {
		return nil
	}
	if _, err := unix.Seek(f.dir.fd, 0, 0); err != nil {
		return sysFail(w.op, path, err)
	}
	again, err := list(f.dir.fd, w.buf)
	if err != nil {
		return sysFail(w.op, path, err)
	}
	if name, differs := f.list.firstDifference(&again); differs {
		return fail(CodeChanged, w.op, path+"/"+name, "came, went or was replaced while its directory was measured")
	}
	return nil
}
