package probe

import (
	"errors"
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"
)

// holding is a file that is held open from before it is compared with what was
// measured, and, where the kernel grants it, leased for reading: nobody can open
// it for writing or truncate it without waiting until the lease is given up. The
// kernel grants a lease to the file's owner and to CAP_LEASE, on most local file
// systems, when nobody has the file open for writing.
type holding struct {
	fd     int // for reading; -1 when the file is not held
	st     unix.Stat_t
	leased bool
	reason string // why there is no lease
}

// hold opens the regular file at path. It is opened by its inode, so that what is
// examined first and opened then is one file, and no device or FIFO is opened.
func hold(path string) (*holding, error) {
	h := &holding{fd: -1}
	where, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return h, err
	}
	defer unix.Close(where)
	if err := unix.Fstat(where, &h.st); err != nil {
		return h, err
	}
	if h.st.Mode&unix.S_IFMT != unix.S_IFREG {
		return h, errNotRegular
	}
	if h.fd, err = unix.Open("/proc/self/fd/"+strconv.Itoa(where), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0); err != nil {
		h.fd, h.reason = -1, "the file may not be read: "+err.Error()
		return h, nil
	}
	h.lease()
	return h, unix.Fstat(h.fd, &h.st)
}

// lease takes the lease. Its end is found by asking; the signal that would tell of
// it is sent to nobody, and while that is being set it is one that the runtime
// uses itself and that programs ignore by default.
func (h *holding) lease() {
	fd := uintptr(h.fd) //nolint:gosec // a descriptor
	if _, err := unix.FcntlInt(fd, unix.F_SETSIG, int(unix.SIGURG)); err != nil {
		h.reason = "no signal could be chosen: " + err.Error()
		return
	}
	_, err := unix.FcntlInt(fd, unix.F_SETLEASE, unix.F_RDLCK)
	switch {
	case err == nil:
		h.leased = true
		_, _ = unix.FcntlInt(fd, unix.F_SETOWN, 0)
	case errors.Is(err, unix.EAGAIN):
		h.reason = "the file is open for writing"
	case errors.Is(err, unix.EACCES):
		h.reason = "the file is another user's"
	default:
		h.reason = "this file system grants none: " + err.Error()
	}
}

// wanted reports whether somebody waits to write to the file. Until the lease is
// given up, or the kernel takes it after lease-break-time (45 s), they have not.
func (h *holding) wanted() bool {
	if h == nil || !h.leased {
		return false
	}
	now, err := unix.FcntlInt(uintptr(h.fd), unix.F_GETLEASE, 0) //nolint:gosec // a descriptor
	return err == nil && now != unix.F_RDLCK
}

// yield gives the lease up.
func (h *holding) yield(why string) {
	if h != nil && h.leased {
		_, _ = unix.FcntlInt(uintptr(h.fd), unix.F_SETLEASE, unix.F_UNLCK) //nolint:gosec // a descriptor
		h.leased, h.reason = false, why
	}
}

// changed names what of the held file is no longer as it was when it was opened.
func (h *holding) changed() string {
	var now unix.Stat_t
	if h == nil || h.fd < 0 {
		return ""
	}
	if err := unix.Fstat(h.fd, &now); err != nil {
		return err.Error()
	}
	switch was := &h.st; {
	case now.Size != was.Size:
		return fmt.Sprintf("size is %d, and was %d before the run", now.Size, was.Size)
	case now.Mtim != was.Mtim:
		return fmt.Sprintf("mtime is %d, and was %d before the run", now.Mtim.Nano(), was.Mtim.Nano())
	case now.Ctim != was.Ctim:
		return fmt.Sprintf("ctime is %d, and was %d before the run", now.Ctim.Nano(), was.Ctim.Nano())
	}
	return ""
}

// head is the start of the held file.
func (h *holding) head() []byte {
	if h.fd < 0 {
		return nil
	}
	head := make([]byte, shebangSize)
	n, err := unix.Pread(h.fd, head, 0)
	if err != nil {
		return nil
	}
	return head[:n]
}

// identity is what the file must be when nothing else was measured.
func (h *holding) identity() *Expectation {
	return &Expectation{Dev: uint64(h.st.Dev), Ino: h.st.Ino, Size: h.st.Size, CtimeNS: h.st.Ctim.Nano()} //nolint:unconvert // the type differs by processor
}

func (h *holding) close() {
	if h != nil && h.fd >= 0 {
		h.yield("the run has ended")
		_ = unix.Close(h.fd)
		h.fd = -1
	}
}
