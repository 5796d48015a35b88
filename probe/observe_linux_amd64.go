package probe

import "golang.org/x/sys/unix"

// openCalls are the system calls of this processor that give a descriptor for a
// path or a handle.
func openCalls() []uint32 {
	return []uint32{unix.SYS_OPENAT, unix.SYS_OPEN, unix.SYS_OPENAT2, unix.SYS_CREAT, unix.SYS_OPEN_BY_HANDLE_AT}
}

// refuseCall makes the system call before which a task is stopped fail with
// ENOSYS, as it does where nobody traces. The kernel has put ENOSYS into the
// result already; a number of -1 leaves it there.
func refuseCall(tid int) error {
	var r unix.PtraceRegsAmd64
	if err := unix.PtraceGetRegsAmd64(tid, &r); err != nil {
		return ignoreGone(err)
	}
	r.Orig_rax = ^uint64(0)
	r.Rax = uint64(errnoResult(unix.ENOSYS))
	return ignoreGone(unix.PtraceSetRegsAmd64(tid, &r))
}

// legacyWrites is whether open or creat lets a file be written.
func legacyWrites(c openCall) bool { return c.number == unix.SYS_CREAT || writes(c.args[1]) }
