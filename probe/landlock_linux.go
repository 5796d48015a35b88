package probe

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Versions of the Landlock interface from which something is covered.
const (
	landlockRefer    = 2 // moving between directories; before, it was always refused
	landlockTruncate = 3
	landlockTCP      = 4
	landlockIoctl    = 5
	landlockScoped   = 6
)

// Rights to files. fileRights apply to files themselves, the others to
// directories.
const (
	writeRights = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR |
		unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_DIR |
		unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO |
		unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK | unix.LANDLOCK_ACCESS_FS_MAKE_SYM
	readRights = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	fileRights = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_READ_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
)

// landlock is a prepared ruleset. It restricts only the thread that enforces it
// and what that starts: go-landlock's calls act on all threads of the process
// and so do not fit a library.
type landlock struct {
	abi     int
	ruleset int // descriptor, -1 when there is none
}

// landlockVersion is the version of the interface, 0 where there is none.
func landlockVersion() int {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v)
}

// newLandlock prepares the ruleset of a job. A declared path that does not exist
// is an error: a rule for it cannot be made.
func newLandlock(j *job) (landlock, error) {
	l := landlock{abi: landlockVersion(), ruleset: -1}
	if l.abi == 0 {
		return l, nil
	}
	attr := unix.LandlockRulesetAttr{Handled_access_fs: l.writes()}
	if len(j.read) > 0 {
		attr.Handled_access_fs |= readRights
	}
	if l.abi >= landlockTCP && j.network == NetworkDeny {
		attr.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if l.abi >= landlockScoped {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	// Kernels refuse fields that they do not know unless these are 0; the three
	// first are all that is set here.
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0) //nolint:gosec // the kernel reads it
	if errno != 0 {
		return landlock{}, &Error{Code: CodeNotEnforceable, Op: "make a Landlock ruleset", Err: errno}
	}
	l.ruleset = int(fd)
	if err := l.rules(j, attr.Handled_access_fs); err != nil {
		l.close()
		return landlock{}, err
	}
	return l, nil
}

// writes are all rights to change files that this version knows.
func (l *landlock) writes() uint64 {
	rights := uint64(writeRights)
	if l.abi >= landlockRefer {
		rights |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if l.abi >= landlockTruncate {
		rights |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if l.abi >= landlockIoctl {
		rights |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	return rights
}

// rules allows what a job may write and, when its reads are limited, read.
func (l *landlock) rules(j *job, handled uint64) error {
	allow := func(path string, rights uint64, declared bool) error {
		err := l.rule(path, rights&handled)
		if err != nil && declared {
			return &Error{Code: CodeBadIsolation, Op: "allow access to", Path: path, Err: err}
		}
		return nil
	}
	all := ^uint64(0)
	if err := allow(j.scratch, all, true); err != nil {
		return err
	}
	for _, path := range j.write {
		if err := allow(path, all, true); err != nil {
			return err
		}
	}
	for _, path := range j.read {
		if err := allow(path, readRights, true); err != nil {
			return err
		}
	}
	// Devices that hold nothing.
	for _, path := range []string{"/dev/null", "/dev/zero", "/dev/full"} {
		_ = allow(path, all, false)
	}
	if handled&readRights == 0 {
		return nil
	}
	for _, path := range []string{"/dev/random", "/dev/urandom"} {
		_ = allow(path, readRights, false)
	}
	// The program itself, and what the kernel opens to execute it.
	for path, depth := j.path, 0; path != "" && depth < 4; path, depth = interpreterOf(path), depth+1 {
		_ = allow(path, readRights, false)
	}
	return nil
}

// rule adds one rule. The path's links are followed now.
func (l *landlock) rule(path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= fileRights
	}
	if rights == 0 {
		return nil
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)} //nolint:gosec // a descriptor
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(l.ruleset), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0) //nolint:gosec // the kernel reads it
	if errno != 0 {
		return errno
	}
	return nil
}

// restrict enforces the ruleset on the calling thread.
func (l *landlock) restrict() error {
	if l.ruleset < 0 {
		return nil
	}
	_, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(l.ruleset), 0, 0)
	if errors.Is(errno, unix.E2BIG) {
		return reason("this host program is restricted by Landlock sixteen times over already")
	}
	if errno != 0 {
		return errno
	}
	return nil
}

func (l *landlock) close() {
	if l.ruleset >= 0 {
		_ = unix.Close(l.ruleset)
		l.ruleset = -1
	}
}

// method names the mechanism and its version.
func (l *landlock) method() string { return fmt.Sprintf("Landlock ABI %d", l.abi) }

// missing is why something is not covered that version abi covers, or empty.
func (l *landlock) missing(abi int, what string) string {
	if l.abi >= abi {
		return ""
	}
	if l.abi == 0 {
		return "this kernel has no Landlock"
	}
	return fmt.Sprintf("Landlock ABI %d does not cover %s, which ABI %d does", l.abi, what, abi)
}

// tcpMethod is what Landlock adds to a denied network.
func (l *landlock) tcpMethod() string {
	if l.abi < landlockTCP {
		return ""
	}
	return "; " + l.method() + ": no TCP bind or connect"
}
