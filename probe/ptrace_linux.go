package probe

import (
	"errors"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// traceOptions are set on every tracee and inherited by what it creates.
const traceOptions = unix.PTRACE_O_TRACEFORK | unix.PTRACE_O_TRACEVFORK | unix.PTRACE_O_TRACECLONE |
	unix.PTRACE_O_TRACEEXEC | unix.PTRACE_O_TRACEEXIT | unix.PTRACE_O_EXITKILL

// This file is the system calls of tracing, without policy. All of them but
// killProcess must be made on the thread that is the tracer. ESRCH means that
// the tracee died in the meantime; its end is still to be waited for, so that
// it is no error here.

// ptrace is one request whose arguments are numbers.
func ptrace(request, pid int, addr, data uintptr) error {
	_, _, errno := unix.Syscall6(unix.SYS_PTRACE, uintptr(request), uintptr(pid), addr, data, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// resume continues a stopped tracee, delivering sig when it is not 0.
func resume(tid int, sig unix.Signal) error {
	return ignoreGone(ptrace(unix.PTRACE_CONT, tid, 0, uintptr(sig)))
}

// listen leaves a tracee in its group stop and lets SIGCONT end it.
func listen(tid int) error {
	return ignoreGone(ptrace(unix.PTRACE_LISTEN, tid, 0, 0))
}

func ignoreGone(err error) error {
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	return err
}

// eventMessage is the number that goes with the last event of tid.
func eventMessage(tid int) (int, error) {
	msg, err := unix.PtraceGetEventMsg(tid)
	return int(msg), err
}

// waitAny waits for any child or tracee of this thread, and for no other
// package's: __WNOTHREAD keeps the children of other threads out.
func waitAny(usage *unix.Rusage) (tid int, status uint32, err error) {
	var ws unix.WaitStatus
	for {
		tid, err = unix.Wait4(-1, &ws, unix.WALL|unix.WNOTHREAD, usage)
		if !errors.Is(err, unix.EINTR) {
			return tid, uint32(ws), err
		}
	}
}

// waitOne waits for one tracee.
func waitOne(pid int, usage *unix.Rusage) (status uint32, err error) {
	var ws unix.WaitStatus
	for {
		_, err = unix.Wait4(pid, &ws, unix.WALL|unix.WNOTHREAD, usage)
		if !errors.Is(err, unix.EINTR) {
			return uint32(ws), err
		}
	}
}

func ptracePointer(request, pid int, addr uintptr, data unsafe.Pointer) error {
	_, _, errno := unix.Syscall6(unix.SYS_PTRACE, uintptr(request), uintptr(pid), addr, uintptr(data), 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// registers is a tracee's general registers as raw bytes; they are only
// compared. The largest set of the supported processors is 272 bytes.
type registers [512]byte

// readRegisters reads them, whatever the processor (NT_PRSTATUS is set 1).
func readRegisters(tid int) (registers, error) {
	var r registers
	iov := unix.Iovec{Base: &r[0]}
	iov.SetLen(len(r))
	err := ptracePointer(unix.PTRACE_GETREGSET, tid, 1, unsafe.Pointer(&iov)) //nolint:gosec // the kernel fills it
	return r, err
}

// setLimit lowers one resource limit of a stopped process to value, soft and
// hard, or to the host's own hard limit when that is lower.
func setLimit(pid, resource int, value uint64) error {
	var old unix.Rlimit
	if err := unix.Prlimit(pid, resource, nil, &old); err != nil {
		return err
	}
	value = min(value, old.Max)
	return unix.Prlimit(pid, resource, &unix.Rlimit{Cur: value, Max: value}, nil)
}

// processClock returns the CPU time of a whole process, its ended threads
// included, to the nanosecond. The clock is named by the process's number as in
// clock_getcpuclockid(3).
func processClock(pid int) (time.Duration, error) {
	const schedClock = 2
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|schedClock), &ts); err != nil { //nolint:gosec // the kernel's own encoding
		return 0, err
	}
	return time.Duration(ts.Nano()), nil
}

// isProcess reports whether tid is a process and not a further thread of one:
// only then does a thread of that number exist in the process of that number.
func isProcess(tid int) bool { return unix.Tgkill(tid, tid, 0) == nil }

// addressOf is the address of a number that a system call fills in.
func addressOf(n *int32) uintptr { return uintptr(unsafe.Pointer(n)) }
