//go:build unix

package digest

import (
	"io/fs"

	"golang.org/x/sys/unix"
)

// FileID is the identity of an opened file, from fstat(2). Two equal FileIDs
// taken before and after a read mean that nothing was written in between, for
// ctime can't be set from user space; but kernels without fine-grained
// timestamps (Linux before 6.13) don't tell two changes within one clock tick, a
// few milliseconds, apart.
type FileID struct {
	Dev     uint64 `json:"dev"`
	Ino     uint64 `json:"ino"`
	Size    int64  `json:"size"`
	MtimeNS int64  `json:"mtime_ns"`
	CtimeNS int64  `json:"ctime_ns"`
}

// Same reports whether both name one inode, changed or not.
func (f FileID) Same(o FileID) bool { return f.Dev == o.Dev && f.Ino == o.Ino }

func fileID(st *unix.Stat_t) FileID {
	return FileID{
		Dev: uint64(st.Dev), Ino: st.Ino, Size: st.Size, //nolint:unconvert // Dev is signed on darwin
		MtimeNS: st.Mtim.Nano(), CtimeNS: st.Ctim.Nano(),
	}
}

// entryKind is the type of a directory entry.
type entryKind uint8

const (
	kindUnknown entryKind = iota
	kindRegular
	kindDirectory
	kindSymlink
	kindFIFO
	kindSocket
	kindDevice
	kindGone
)

func (k entryKind) String() string {
	switch k {
	case kindRegular:
		return "regular file"
	case kindDirectory:
		return "directory"
	case kindSymlink:
		return "symbolic link"
	case kindFIFO:
		return "FIFO"
	case kindSocket:
		return "socket"
	case kindDevice:
		return "device"
	case kindGone:
		return "nothing"
	default:
		return "file of an unknown type"
	}
}

func kindOf(st *unix.Stat_t) entryKind {
	switch uint32(st.Mode) & unix.S_IFMT { //nolint:unconvert // 16 bits on darwin
	case unix.S_IFREG:
		return kindRegular
	case unix.S_IFDIR:
		return kindDirectory
	case unix.S_IFLNK:
		return kindSymlink
	case unix.S_IFIFO:
		return kindFIFO
	case unix.S_IFSOCK:
		return kindSocket
	case unix.S_IFCHR, unix.S_IFBLK:
		return kindDevice
	default:
		return kindUnknown
	}
}

func ownerExecutes(st *unix.Stat_t) bool { return uint32(st.Mode)&unix.S_IXUSR != 0 } //nolint:unconvert // see kindOf

// permissions returns the mode bits that chmod(2) sets.
func permissions(st *unix.Stat_t) fs.FileMode {
	m := fs.FileMode(st.Mode & 0o777)
	if st.Mode&unix.S_ISUID != 0 {
		m |= fs.ModeSetuid
	}
	if st.Mode&unix.S_ISGID != 0 {
		m |= fs.ModeSetgid
	}
	if st.Mode&unix.S_ISVTX != 0 {
		m |= fs.ModeSticky
	}
	return m
}

// O_NONBLOCK: without it, opening a FIFO that took the place of a file after
// its type was looked at would wait for a writer for ever.
const (
	openFile = unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC | unix.O_NOCTTY
	openDir  = openFile | unix.O_DIRECTORY
)

// The calls below retry EINTR, which the runtime's preemption signals cause on
// slow file systems.

func openat(dirfd int, name string, flags int) (int, error) {
	for {
		fd, err := unix.Openat(dirfd, name, flags, 0)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

func fstat(fd int, st *unix.Stat_t) error {
	for {
		if err := unix.Fstat(fd, st); err != unix.EINTR {
			return err
		}
	}
}

func lstatat(dirfd int, name string, st *unix.Stat_t) error {
	for {
		if err := unix.Fstatat(dirfd, name, st, unix.AT_SYMLINK_NOFOLLOW); err != unix.EINTR {
			return err
		}
	}
}

func read(fd int, p []byte) (int, error) {
	for {
		n, err := unix.Read(fd, p)
		if err != unix.EINTR {
			return n, err
		}
	}
}
