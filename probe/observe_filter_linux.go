package probe

import (
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// observeFilter stops a task before every system call that gives a descriptor
// for a path, with mark as the event's number, and lets the rest pass: those
// cost nothing, as the kernel knows by their number that they do.
//
// Where the filter of the isolation refuses a call, that wins over this one,
// whatever their order (seccomp(2): ERRNO before TRACE before ALLOW).
//
// execve and execveat are not among them, and need not be: the exec event comes
// for every one that succeeds, in every process, and shows the image that the
// kernel took and not the path that was asked for. They could not be: the exec
// that starts the program is made before it can have a tracer that takes such
// events, and would fail with ENOSYS, as would every other open of this thread.
//
// The call of seccomp that makes a listener is among them, because a listener
// can let a call pass without this filter being asked. more are further calls.
func observeFilter(mark uint16, more ...uint32) []unix.SockFilter {
	trace := unix.SockFilter{Code: bpfReturn, K: unix.SECCOMP_RET_TRACE | uint32(mark)}
	allow := unix.SockFilter{Code: bpfReturn, K: unix.SECCOMP_RET_ALLOW}
	filter := []unix.SockFilter{
		{Code: bpfLoad, K: dataArch},
		{Code: bpfEqual, Jt: 1, K: nativeArch},
		allow, // of another processor mode: refused by the isolation
		{Code: bpfLoad, K: dataNumber},
	}
	for _, number := range slices.Concat(openCalls(), more) {
		filter = append(filter, unix.SockFilter{Code: bpfEqual, Jf: 1, K: number}, trace)
	}
	return append(filter,
		unix.SockFilter{Code: bpfEqual, Jf: 5, K: unix.SYS_SECCOMP},
		unix.SockFilter{Code: bpfLoad, K: dataArg0},
		unix.SockFilter{Code: bpfEqual, Jf: 3, K: unix.SECCOMP_SET_MODE_FILTER},
		unix.SockFilter{Code: bpfLoad, K: dataArg0 + 8},
		unix.SockFilter{Code: bpfAnySet, Jf: 1, K: unix.SECCOMP_FILTER_FLAG_NEW_LISTENER},
		trace,
		allow,
	)
}

// observable returns why the kernel could not stop a task by a filter, or "".
func observable() string {
	action := uint32(unix.SECCOMP_RET_TRACE)
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action))) //nolint:gosec // the kernel reads it
	if errno != 0 {
		return "this kernel has no seccomp filters that stop a traced task"
	}
	return ""
}

// openCall is the arguments of one system call that opens a file, as they are in
// the registers, which no other thread can change.
type openCall struct {
	number uint64
	args   [6]uint64
}

// path is the address of the path that was asked for, 0 when there is none.
func (c openCall) path() uint64 {
	switch c.number {
	case unix.SYS_OPENAT, unix.SYS_OPENAT2:
		return c.args[1]
	case unix.SYS_OPEN_BY_HANDLE_AT:
		return 0
	}
	return c.args[0] // open, creat
}

// writes reports whether flags of open(2) let a file be written, created or
// truncated.
func writes(flags uint64) bool {
	return flags&unix.O_PATH == 0 && (flags&unix.O_ACCMODE != unix.O_RDONLY || flags&(unix.O_CREAT|unix.O_TRUNC) != 0)
}

// errnoResult is a failed call's result, as the kernel returns it.
func errnoResult(errno unix.Errno) int64 { return -int64(errno) }

// syscallInfo is struct ptrace_syscall_info. What data holds depends on op: the
// number, six arguments and the filter's mark at a stop by a filter; the result
// and whether it is an error at the end of a call.
type syscallInfo struct {
	op   uint8
	_    [3]byte
	arch uint32
	_    [2]uint64 // instruction and stack pointer
	data [8]uint64
}

// Values of syscallInfo.op.
const (
	infoExit    = 2
	infoSeccomp = 3
)

// readSyscall reads where in a system call a stopped task is (Linux 5.3).
func readSyscall(tid int) (syscallInfo, error) {
	var info syscallInfo
	_, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_GET_SYSCALL_INFO, uintptr(tid), unsafe.Sizeof(info),
		uintptr(unsafe.Pointer(&info)), 0, 0) //nolint:gosec // the kernel fills it
	if errno != 0 {
		return info, errno
	}
	return info, nil
}

// resumeCall continues a task that is before a system call to the call's end.
func resumeCall(tid int) error {
	return ignoreGone(ptrace(unix.PTRACE_SYSCALL, tid, 0, 0))
}

// readMemory reads up to most bytes of a stopped task's memory, up to the first
// page that is not there.
func readMemory(tid int, address uint64, most int) []byte {
	const page = 4096
	buf := make([]byte, most)
	var remote []unix.RemoteIovec
	for at, left := address, most; left > 0; {
		n := min(left, page-int(at%page))
		remote = append(remote, unix.RemoteIovec{Base: uintptr(at), Len: n})
		at, left = at+uint64(n), left-n //nolint:gosec // n is at most a page
	}
	local := []unix.Iovec{{Base: &buf[0]}}
	local[0].SetLen(most)
	n, err := unix.ProcessVMReadv(tid, local, remote, 0)
	if err != nil {
		return nil
	}
	return buf[:n]
}

// readString reads a path from a stopped task's memory; it is false when no end
// is there within the longest path.
func readString(tid int, address uint64) (string, bool) {
	for _, most := range []int{256, unix.PathMax} {
		data := readMemory(tid, address, most)
		for i, b := range data {
			if b == 0 {
				return string(data[:i]), true
			}
		}
		if len(data) < most {
			break
		}
	}
	return "", false
}
