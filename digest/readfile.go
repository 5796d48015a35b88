//go:build unix

package digest

import (
	"context"

	"golang.org/x/sys/unix"
)

// blockSize is how much is read between two looks at the context. Most source
// files fit in one block, and so cost one read(2).
const blockSize = 256 << 10

// regularAt opens the regular file name below dirfd, without following a link
// and without waiting for the other end of a FIFO.
func regularAt(op, path string, dirfd int, name string) (int, unix.Stat_t, error) {
	var st unix.Stat_t
	fd, err := openat(dirfd, name, openFile)
	if err != nil {
		return -1, st, replacedEntry(op, path, dirfd, name, kindRegular, err)
	}
	if err := fstat(fd, &st); err != nil {
		_ = unix.Close(fd)
		return -1, st, sysFail(op, path, err)
	}
	if k := kindOf(&st); k != kindRegular {
		_ = unix.Close(fd)
		return -1, st, fail(CodeNotRegular, op, path, "%s", k)
	}
	return fd, st, nil
}

// readAll gives the content of the open regular file fd to sink, block by
// block, and fails with [CodeChanged] unless it is exactly st.Size bytes long
// and size, mtime and ctime are the same afterwards.
//
// Each read asks for one byte more than should be left. So a file that grew, or
// one of /proc that says it is empty, is found without one more system call.
func readAll(ctx context.Context, op, path string, fd int, st *unix.Stat_t, buf []byte, sink func([]byte)) error {
	for left := st.Size; ; {
		if err := cancelled(ctx, op); err != nil {
			return err
		}
		n, err := read(fd, buf[:min(int64(len(buf)), left+1)])
		if err != nil {
			return sysFail(op, path, err)
		}
		if int64(n) > left {
			return fail(CodeChanged, op, path, "longer than the %d bytes it began with", st.Size)
		}
		if n == 0 && left > 0 {
			return fail(CodeChanged, op, path, "%d bytes shorter than the %d bytes it began with", left, st.Size)
		}
		sink(buf[:n])
		if left -= int64(n); left == 0 && (n == 0 || n < len(buf)) {
			break
		}
	}
	var now unix.Stat_t
	if err := fstat(fd, &now); err != nil {
		return sysFail(op, path, err)
	}
	if fileID(&now) != fileID(st) {
		return fail(CodeChanged, op, path, "size or times moved while it was read")
	}
	return nil
}

// smallFile returns the whole content of the regular file name below dirfd, at
// most limit bytes.
func smallFile(ctx context.Context, op, path string, dirfd int, name string, limit int64) ([]byte, error) {
	fd, st, err := regularAt(op, path, dirfd, name)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd) //nolint:errcheck // opened for reading
	if st.Size > limit {
		return nil, fail(CodeTooLarge, op, path, "%d bytes, at most %d are read", st.Size, limit)
	}
	out := make([]byte, 0, st.Size)
	buf := make([]byte, min(st.Size+1, blockSize))
	err = readAll(ctx, op, path, fd, &st, buf, func(b []byte) { out = append(out, b...) })
	if err != nil {
		return nil, err
	}
	return out, nil
}
