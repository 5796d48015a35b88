package probe

import (
	"cmp"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Instructions of the classic BPF that seccomp runs, as (code, jump if true,
// jump if false, operand); and offsets of struct seccomp_data.
const (
	bpfLoad    = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	bpfEqual   = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	bpfAnySet  = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
	bpfAtLeast = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
	bpfReturn  = unix.BPF_RET | unix.BPF_K

	dataNumber = 0
	dataArch   = 4
	dataArg0   = 16 // low half on little-endian processors, which all that are supported are
)

// namespaceFlags make a namespace in clone and unshare. CLONE_NEWTIME is 0x80,
// which in clone is part of a signal's number, and only unshare takes it.
const namespaceFlags = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// refusedCalls are system calls that are refused whatever their arguments.
//
// Each is an entry to the host or to other processes (tracing, keyrings, kernel
// modules, mounts), outlives the program (System V and POSIX objects that are
// not files), or goes past the filter itself (io_uring, which does what other
// calls do without making them). Numbers above 423 are equal on all processors.
func refusedCalls() []uint32 {
	return []uint32{
		unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_KCMP, unix.SYS_PIDFD_GETFD, unix.SYS_PERF_EVENT_OPEN,
		unix.SYS_PROCESS_MADVISE, unix.SYS_PROCESS_MRELEASE, unix.SYS_BPF, unix.SYS_USERFAULTFD, unix.SYS_FANOTIFY_INIT,
		unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL,
		unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_REBOOT, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE,
		unix.SYS_DELETE_MODULE, unix.SYS_SYSLOG, unix.SYS_ACCT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_QUOTACTL,
		unix.SYS_QUOTACTL_FD, unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX,
		unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_VHANGUP, unix.SYS_OPEN_BY_HANDLE_AT,
		unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_SETNS, unix.SYS_OPEN_TREE,
		unix.SYS_MOVE_MOUNT, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR,
	}
}

// absentCalls are answered as by a kernel that lacks them, because programs ask
// for them and have another way: io_uring, clone3 (whose flags are in memory,
// where a filter cannot look; C libraries then use clone), and the objects of
// System V and POSIX message queues.
func absentCalls() []uint32 {
	return []uint32{
		unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, unix.SYS_CLONE3,
		// Objects of the host can be used by their number without being got first.
		unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL,
		unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL, unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK,
	}
}

// rule is what the filter does with one system call.
type rule struct {
	number uint32
	code   []unix.SockFilter // ends in a return, or falls through to the next
}

// systemCallFilter is the filter of a run. It is a list of what is refused,
// since programs of every kind must run under it, and is written out here
// because the known assembler lets foreign processor modes through.
//
// The rules are searched by halves: when a filter is installed the kernel runs it
// once for every system call there is, to learn which always pass, and with a
// plain list that took 200 of the 2000 microseconds of a short run.
//
// clones are first arguments of clone that pass although they make namespaces.
func systemCallFilter(network NetworkPolicy, clones ...uint32) []unix.SockFilter {
	const refuse, absent = uint32(unix.EPERM), uint32(unix.ENOSYS)
	filter := []unix.SockFilter{
		{Code: bpfLoad, K: dataArch},
		{Code: bpfEqual, Jt: 1, K: nativeArch},
		answer(absent),
		{Code: bpfLoad, K: dataNumber},
	}
	if foreignNumbers != 0 {
		filter = append(filter, unix.SockFilter{Code: bpfAtLeast, Jf: 1, K: foreignNumbers}, answer(absent))
	}
	var rules []rule
	for _, number := range refusedCalls() {
		rules = append(rules, rule{number, []unix.SockFilter{answer(refuse)}})
	}
	for _, number := range absentCalls() {
		rules = append(rules, rule{number, []unix.SockFilter{answer(absent)}})
	}
	rules = append(
		rules,
		// A child that asks not to be traced would leave the run.
		rule{unix.SYS_CLONE, append(passing(clones), argument(bpfAnySet, refuse, unix.CLONE_UNTRACED|namespaceFlags)...)},
		rule{unix.SYS_UNSHARE, argument(bpfAnySet, refuse, namespaceFlags|unix.CLONE_NEWTIME)},
		// Without these two nothing but the tracer can trace; the child's own
		// request to be traced must pass.
		rule{unix.SYS_PTRACE, argument(bpfEqual, refuse, unix.PTRACE_ATTACH, unix.PTRACE_SEIZE)},
	)
	if network == NetworkDeny {
		for _, number := range []uint32{unix.SYS_SOCKET, unix.SYS_SOCKETPAIR} {
			rules = append(rules, rule{number, []unix.SockFilter{
				{Code: bpfLoad, K: dataArg0},
				{Code: bpfEqual, Jt: 1, K: unix.AF_UNIX},
				answer(uint32(unix.EACCES)),
				pass(),
			}})
		}
	}
	slices.SortFunc(rules, func(a, b rule) int { return cmp.Compare(a.number, b.number) })
	return append(filter, search(rules)...)
}

// search finds the rule of the loaded number by halves, and passes a number that
// has none. A jump goes at most 255 instructions ahead, which TestFilter checks
// by running the whole.
func search(rules []rule) []unix.SockFilter {
	if len(rules) == 1 {
		code := rules[0].code
		found := append([]unix.SockFilter{{Code: bpfEqual, Jf: uint8(len(code)), K: rules[0].number}}, code...) //nolint:gosec // a handful
		return append(found, pass())
	}
	half := len(rules) / 2
	lower := search(rules[:half])
	code := []unix.SockFilter{{Code: bpfAtLeast, Jt: uint8(len(lower)), K: rules[half].number}} //nolint:gosec // checked by a test
	return slices.Concat(code, lower, search(rules[half:]))
}

// argument answers with errno when the first argument meets the test with one of
// the operands, and passes otherwise.
func argument(test uint16, errno uint32, operands ...uint32) []unix.SockFilter {
	code := []unix.SockFilter{{Code: bpfLoad, K: dataArg0}}
	for _, operand := range operands {
		code = append(code, unix.SockFilter{Code: test, Jf: 1, K: operand}, answer(errno))
	}
	return append(code, pass())
}

// passing lets through the system call whose first argument is one of the
// operands, and goes on with the next instruction for any other.
func passing(operands []uint32) []unix.SockFilter {
	var code []unix.SockFilter
	for _, operand := range operands {
		code = append(code, unix.SockFilter{Code: bpfLoad, K: dataArg0}, unix.SockFilter{Code: bpfEqual, Jf: 1, K: operand}, pass())
	}
	return code
}

// pass lets the system call through.
func pass() unix.SockFilter {
	return unix.SockFilter{Code: bpfReturn, K: unix.SECCOMP_RET_ALLOW}
}

// answer makes the system call fail with errno.
func answer(errno uint32) unix.SockFilter {
	return unix.SockFilter{Code: bpfReturn, K: unix.SECCOMP_RET_ERRNO | errno}
}

// filtersAvailable reports whether the kernel takes filters that answer with an
// error number.
func filtersAvailable() bool {
	action := uint32(unix.SECCOMP_RET_ERRNO)
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action))) //nolint:gosec // the kernel reads it
	return errno == 0
}

// installFilter puts filter on the calling thread and no other, which is why it
// is not loaded by a library, as those use SECCOMP_FILTER_FLAG_TSYNC.
func installFilter(filter []unix.SockFilter) error {
	if len(filter) == 0 {
		return nil
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}                                           //nolint:gosec // a few hundred at most
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&program))) //nolint:gosec // the kernel reads it
	if errno != 0 {
		return errno
	}
	return nil
}
