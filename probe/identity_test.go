//go:build linux || darwin

package probe

import (
	"testing"

	"golang.org/x/sys/unix"
)

// identity is the Expectation of the file at path as it is now.
func identity(t testing.TB, path string) Expectation {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		t.Fatal(err)
	}
	return Expectation{Dev: uint64(st.Dev), Ino: st.Ino, Size: st.Size, CtimeNS: st.Ctim.Nano(), Path: path}
}
