package digest

import (
	"bytes"
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// Offsets in struct linux_dirent64, getdents64(2).
const (
	direntIno    = 0
	direntReclen = 16
	direntType   = 18
	direntName   = 19
)

// readEntries calls add for each entry of the directory fd, but for . and ..;
// the name is valid during the call only. The kind spares one lstat(2) for each
// entry; file systems that don't keep it say kindUnknown.
func readEntries(fd int, buf []byte, add func(name []byte, ino uint64, kind entryKind)) error {
	for {
		n, err := unix.Getdents(fd, buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		if n == 0 {
			return nil
		}
		for b := buf[:n]; len(b) > direntName; {
			reclen := int(binary.NativeEndian.Uint16(b[direntReclen:]))
			if reclen <= direntName || reclen > len(b) {
				return unix.EIO
			}
			name := b[direntName:reclen]
			if i := bytes.IndexByte(name, 0); i >= 0 {
				name = name[:i]
			}
			if !dots(name) {
				add(name, binary.NativeEndian.Uint64(b[direntIno:]), direntKind(b[direntType]))
			}
			b = b[reclen:]
		}
	}
}

func direntKind(t byte) entryKind {
	switch t {
	case unix.DT_REG:
		return kindRegular
	case unix.DT_DIR:
		return kindDirectory
	case unix.DT_LNK:
		return kindSymlink
	case unix.DT_FIFO:
		return kindFIFO
	case unix.DT_SOCK:
		return kindSocket
	case unix.DT_CHR, unix.DT_BLK:
		return kindDevice
	default:
		return kindUnknown
	}
}
