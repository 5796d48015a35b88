package probe

import (
	"os"

	"golang.org/x/sys/unix"
)

// stdinFile returns a file of data, at its start. It is a sealed memory file,
// so that the program can neither change what it was given nor, by not reading,
// hold anybody up.
func stdinFile(data []byte, scratchParent string) (*os.File, error) {
	fd, err := unix.MemfdCreate("stdin", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return unlinkedFile(data, scratchParent)
	}
	file := os.NewFile(uintptr(fd), "stdin")
	if err := fillAndRewind(file, data); err != nil {
		_ = file.Close()
		return nil, err
	}
	const seals = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE
	if _, err := unix.FcntlInt(file.Fd(), unix.F_ADD_SEALS, seals); err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}
