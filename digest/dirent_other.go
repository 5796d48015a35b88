//go:build unix && !linux

package digest

import "golang.org/x/sys/unix"

// readEntries is the portable form: names only. Each kind then costs an lstat,
// and a file that was replaced under its name by another is found by its own
// checks, not by the directory's.
func readEntries(fd int, buf []byte, add func(name []byte, ino uint64, kind entryKind)) error {
	var names []string
	for {
		n, err := unix.ReadDirent(fd, buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		if n <= 0 {
			return nil
		}
		_, _, names = unix.ParseDirent(buf[:n], -1, names[:0])
		for _, name := range names {
			if !dots([]byte(name)) {
				add([]byte(name), 0, kindUnknown)
			}
		}
	}
}
