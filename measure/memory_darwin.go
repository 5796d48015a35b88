package measure

import "golang.org/x/sys/unix"

func hostMemory() (int64, error) {
	n, err := unix.SysctlUint64("hw.memsize")
	return int64(n), err //nolint:gosec // below 2^63 on any machine
}
