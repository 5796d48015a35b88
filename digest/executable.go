//go:build unix

package digest

import (
	"context"
	"crypto/sha256"
	"io/fs"
	"path/filepath"

	godigest "github.com/opencontainers/go-digest"
	"golang.org/x/sys/unix"
)

const opExecutable = "executable"

// ExecutableResult is a measured file.
type ExecutableResult struct {
	Digest godigest.Digest `json:"digest"`
	Path   string          `json:"path"` // absolute, links resolved
	File   FileID          `json:"file"`
	Mode   fs.FileMode     `json:"mode"` // permission bits, set-user-ID and the like
}

// Executable returns the EXECUTABLE digest of path: SHA-256 over the bytes of
// the regular file that it leads to. Links are resolved first, and Path says
// where they led. Whether the file may be executed is not part of the digest;
// see Mode.
//
// Anything but a regular file fails with [CodeNotRegular] and is not opened; a
// file that changes while it is read fails with [CodeChanged].
func Executable(ctx context.Context, path string) (ExecutableResult, error) {
	resolved, err := resolve(opExecutable, path)
	if err != nil {
		return ExecutableResult{}, err
	}
	fd, st, err := openResolved(opExecutable, resolved)
	if err != nil {
		return ExecutableResult{}, err
	}
	defer unix.Close(fd) //nolint:errcheck // opened for reading
	h := sha256.New()
	buf := make([]byte, blockSize)
	if err := readAll(ctx, opExecutable, resolved, fd, &st, buf, func(b []byte) { h.Write(b) }); err != nil {
		return ExecutableResult{}, err
	}
	return ExecutableResult{
		Digest: sum(h), Path: resolved, File: fileID(&st), Mode: permissions(&st),
	}, nil
}

// resolve returns path absolute and without links.
func resolve(op, path string) (string, error) {
	abs, err := absolute(op, path)
	if err != nil {
		return "", err
	}
	// Stat first: EvalSymlinks has an error without a cause for a loop.
	var st unix.Stat_t
	for {
		err = unix.Stat(abs, &st)
		if err != unix.EINTR {
			break
		}
	}
	if err == unix.ELOOP {
		return "", &Error{Code: CodeNotRegular, Op: op, Path: abs, Detail: "symbolic links lead in a loop", Err: err}
	}
	if err != nil {
		return "", sysFail(op, abs, err)
	}
	resolved, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return "", sysFail(op, abs, err)
	}
	return resolved, nil
}

// openResolved opens the regular file at a path without links, looking at its
// type before opening it.
func openResolved(op, path string) (int, unix.Stat_t, error) {
	var before unix.Stat_t
	if err := lstatat(unix.AT_FDCWD, path, &before); err != nil {
		return -1, before, sysFail(op, path, err)
	}
	if k := kindOf(&before); k != kindRegular {
		return -1, before, fail(CodeNotRegular, op, path, "%s, not a regular file", k)
	}
	fd, st, err := regularAt(op, path, unix.AT_FDCWD, path)
	if err != nil {
		return -1, st, err
	}
	if !fileID(&st).Same(fileID(&before)) {
		_ = unix.Close(fd)
		return -1, st, fail(CodeChanged, op, path, "replaced while it was opened")
	}
	return fd, st, nil
}
