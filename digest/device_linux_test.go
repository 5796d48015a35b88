package digest

import "golang.org/x/sys/unix"

// makeDevice makes another /dev/zero.
func makeDevice(path string) error {
	return unix.Mknod(path, unix.S_IFCHR|0o644, int(unix.Mkdev(1, 5)))
}
