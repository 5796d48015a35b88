//go:build unix && !linux

package digest

import "syscall"

// makeDevice isn't tried where device numbers are not known.
func makeDevice(string) error { return syscall.EPERM }
