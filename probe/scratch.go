package probe

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// makeScratch makes a private directory (0700) below parent and returns its
// path with links resolved, so that the child's own idea of its working
// directory is equal to HOME.
func makeScratch(parent string) (string, error) {
	dir, err := os.MkdirTemp(parent, "provider-measure-")
	if err != nil {
		return "", &Error{Code: CodeScratch, Op: "make scratch directory", Path: parent, Err: err}
	}
	resolved, err := filepath.EvalSymlinks(dir)
	if err != nil {
		_ = os.Remove(dir)
		return "", &Error{Code: CodeScratch, Op: "resolve scratch directory", Path: dir, Err: err}
	}
	return resolved, nil
}

// removeScratch removes dir and everything in it, whatever its modes are and
// however deep it is.
//
// A directory without write permission cannot be emptied by its owner, and a
// chain of directories deeper than the descriptor limit defeats a recursion
// that keeps one open for each level. So each directory is made accessible
// first, and its subdirectories are moved up beside it before it is removed:
// three levels are in use at any time. No link is followed: every name is
// looked up below dir with [os.Root], and only entries that lstat says are
// directories are entered.
func removeScratch(dir string) error {
	// Most programs leave nothing there.
	if syscall.Rmdir(dir) == nil || os.RemoveAll(dir) == nil {
		return nil
	}
	if err := flatten(dir); err != nil {
		return &Error{Code: CodeScratch, Op: "empty scratch directory", Path: dir, Err: err}
	}
	if err := os.RemoveAll(dir); err != nil {
		return &Error{Code: CodeScratch, Op: "remove scratch directory", Path: dir, Err: err}
	}
	return nil
}

// flatten empties dir.
func flatten(dir string) error {
	if err := os.Chmod(dir, 0o700); err != nil { //nolint:gosec // a directory needs x, and this one is private
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	moved := 0
	for {
		entries, err := fs.ReadDir(root.FS(), ".")
		if err != nil || len(entries) == 0 {
			return err
		}
		for _, e := range entries {
			if !e.IsDir() {
				err = root.Remove(e.Name())
			} else {
				err = raise(root, e.Name(), &moved)
			}
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
}

// raise removes the directory name of root: its files are removed and its
// subdirectories are moved into root under fresh names.
func raise(root *os.Root, name string, moved *int) error {
	if err := root.Chmod(name, 0o700); err != nil {
		return err
	}
	entries, err := fs.ReadDir(root.FS(), name)
	if err != nil {
		return err
	}
	for _, e := range entries {
		inner := filepath.Join(name, e.Name())
		if !e.IsDir() {
			if err := root.Remove(inner); err != nil {
				return err
			}
			continue
		}
		// Moving a directory rewrites its "..", which needs write permission on it.
		if err := root.Chmod(inner, 0o700); err != nil {
			return err
		}
		*moved++
		if err := root.Rename(inner, freshName(root, moved)); err != nil {
			return err
		}
	}
	return root.Remove(name)
}

// freshName returns a name that does not exist in root.
func freshName(root *os.Root, moved *int) string {
	for {
		name := "." + strconv.Itoa(*moved)
		if _, err := root.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			return name
		}
		*moved++
	}
}
