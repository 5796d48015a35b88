package probe

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// openCalls are the system calls of this processor that give a descriptor for a
// path or a handle.
func openCalls() []uint32 {
	return []uint32{unix.SYS_OPENAT, unix.SYS_OPENAT2, unix.SYS_OPEN_BY_HANDLE_AT}
}

// refuseCall makes the system call before which a task is stopped fail with
// ENOSYS, as it does where nobody traces.
func refuseCall(tid int) error {
	const status, systemCall = 1, 0x404 // NT_PRSTATUS, NT_ARM_SYSTEM_CALL
	var r unix.PtraceRegsArm64
	if err := unix.PtraceGetRegSetArm64(tid, status, &r); err != nil {
		return ignoreGone(err)
	}
	r.Regs[0] = uint64(errnoResult(unix.ENOSYS))
	if err := unix.PtraceSetRegSetArm64(tid, status, &r); err != nil {
		return ignoreGone(err)
	}
	none := int32(-1)
	iov := unix.Iovec{Base: (*byte)(unsafe.Pointer(&none))} //nolint:gosec // the kernel reads it
	iov.SetLen(int(unsafe.Sizeof(none)))
	return ignoreGone(ptracePointer(unix.PTRACE_SETREGSET, tid, systemCall, unsafe.Pointer(&iov))) //nolint:gosec // the kernel reads it
}

// legacyWrites is false: this processor has neither open nor creat.
func legacyWrites(openCall) bool { return false }
