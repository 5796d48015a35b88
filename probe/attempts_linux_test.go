package probe

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// attempts are things that a restricted program must not, or must, be able to
// do. dir is a directory outside of scratch with a file "kept", host the number
// of the host process, and abstract the name of a socket on which it listens.
func attempts(dir, host, abstract string) map[string]func() error {
	pid, _ := strconv.Atoi(host)
	all := map[string]func() error{
		"socket unix":       func() error { return socket(unix.AF_UNIX) },
		"socketpair unix":   func() error { _, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0); return err },
		"write in scratch":  func() error { return os.WriteFile("f", []byte("x"), 0o600) },
		"rename in scratch": renameInScratch,
		"write to null":     func() error { return os.WriteFile("/dev/null", []byte("x"), 0) },
		"read outside":      func() error { _, err := os.ReadFile(filepath.Join(dir, "kept")); return err },
		"read own environ":  func() error { _, err := os.ReadFile("/proc/self/environ"); return err },
		"read certificates": readCertificates,
		"host environ":      func() error { _, err := os.ReadFile("/proc/" + host + "/environ"); return err },
		"host memory":       func() error { _, err := os.Open("/proc/" + host + "/mem"); return err },
		"host maps":         func() error { _, err := os.ReadFile("/proc/" + host + "/maps"); return err },
		"host descriptors":  func() error { return anyDescriptor("/proc/" + host + "/fd") },
		"host directory":    func() error { _, err := os.Readlink("/proc/" + host + "/cwd"); return err },
		"host through task": func() error { _, err := os.ReadFile("/proc/" + host + "/task/" + host + "/environ"); return err },
		"host every thread": func() error { return anyThread(host) },
		"signal host":       func() error { return unix.Kill(pid, 0) },
		"abstract socket":   func() error { c, err := net.Dial("unix", "@"+abstract); closeConn(c); return err },
		"write outside":     func() error { return os.WriteFile(filepath.Join(dir, "new"), nil, 0o600) },
		"append outside": func() error {
			_, err := os.OpenFile(filepath.Join(dir, "kept"), os.O_APPEND|os.O_WRONLY, 0)
			return err
		},
		"truncate outside":   func() error { return os.Truncate(filepath.Join(dir, "kept"), 0) },
		"remove outside":     func() error { return os.Remove(filepath.Join(dir, "kept")) },
		"mkdir outside":      func() error { return os.Mkdir(filepath.Join(dir, "d"), 0o700) },
		"symlink outside":    func() error { return os.Symlink("x", filepath.Join(dir, "l")) },
		"link into scratch":  func() error { return os.Link(filepath.Join(dir, "kept"), "linked") },
		"rename to outside":  renameToOutside(dir),
		"fifo outside":       func() error { return unix.Mkfifo(filepath.Join(dir, "p"), 0o600) },
		"shared memory file": func() error { return os.WriteFile("/dev/shm/probe-attempt-"+host, nil, 0o600) },
		"process writes":     func() error { return os.WriteFile("/proc/self/oom_score_adj", []byte("0"), 0) },
		"mount":              func() error { return unix.Mount("none", ".", "tmpfs", 0, "") },
		"chroot":             func() error { return unix.Chroot(".") },
		"user namespace":     func() error { return unix.Unshare(unix.CLONE_NEWUSER) },
		"new network":        func() error { return unix.Unshare(unix.CLONE_NEWNET) },
		"untraced child":     func() error { return clone(unix.CLONE_UNTRACED | uintptr(unix.SIGCHLD)) },
		"child in namespace": func() error { return clone(unix.CLONE_NEWUSER | uintptr(unix.SIGCHLD)) },
		"clone3":             func() error { return call(unix.SYS_CLONE3, 0, 0, 0) },
		"trace host":         func() error { return call(unix.SYS_PTRACE, unix.PTRACE_ATTACH, uintptr(pid), 0) },
		"seize host":         func() error { return call(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(pid), 0) },
		"read host memory":   func() error { return call(unix.SYS_PROCESS_VM_READV, uintptr(pid), 0, 0) },
		"take descriptor":    func() error { return call(unix.SYS_PIDFD_GETFD, 0, 0, 0) },
		"io_uring":           func() error { return call(unix.SYS_IO_URING_SETUP, 1, 0, 0) },
		"keyring":            func() error { _, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, true); return err },
		"system V memory":    func() error { return call(unix.SYS_SHMGET, 0, 4096, unix.IPC_CREAT) },
		"system V semaphore": func() error { return call(unix.SYS_SEMGET, 0, 1, unix.IPC_CREAT) },
		"system V queue":     func() error { return call(unix.SYS_MSGGET, 0, unix.IPC_CREAT, 0) },
		"bpf":                func() error { return call(unix.SYS_BPF, 0, 0, 0) },
		"perf":               func() error { return call(unix.SYS_PERF_EVENT_OPEN, 0, 0, 0) },
		"userfaultfd":        func() error { return call(unix.SYS_USERFAULTFD, 0, 0, 0) },
		"kexec":              func() error { return call(unix.SYS_KEXEC_LOAD, 0, 0, 0) },
		"reboot":             func() error { return call(unix.SYS_REBOOT, 0, 0, 0) },
		"set clock":          func() error { return call(unix.SYS_CLOCK_SETTIME, 0, 0, 0) },
	}
	for name, family := range map[string]int{
		"socket inet": unix.AF_INET, "socket inet6": unix.AF_INET6, "socket netlink": unix.AF_NETLINK,
		"socket packet": unix.AF_PACKET, "socket vsock": unix.AF_VSOCK, "socket alg": unix.AF_ALG,
		"socket bluetooth": unix.AF_BLUETOOTH, "socket tipc": unix.AF_TIPC, "socket xdp": unix.AF_XDP, "socket can": unix.AF_CAN,
	} {
		all[name] = func() error { return socket(family) }
	}
	return all
}

// permitted are the attempts that must succeed.
func permitted() []string {
	return []string{
		"socket unix", "socketpair unix", "write in scratch", "rename in scratch", "write to null", "read outside",
		"read own environ", "read certificates",
	}
}

// harmless are attempts that a test may make on the host without restrictions.
func harmless() []string {
	return []string{
		"socket inet", "write outside", "host environ", "host descriptors", "host maps", "signal host", "truncate outside",
		"untraced child", "link into scratch", "perf",
	}
}

// attempt prints, for each attempt that is named, or else for all, whether it was
// refused.
func attempt(args []string) error {
	for name, f := range attempts(args[0], args[1], args[2]) {
		if len(args) > 3 && !slices.Contains(args[3:], name) {
			continue
		}
		if err := f(); err != nil {
			fmt.Printf("%s: refused: %v\n", name, err)
		} else {
			fmt.Printf("%s: done\n", name)
		}
	}
	return nil
}

func socket(family int) error {
	fd, err := unix.Socket(family, unix.SOCK_STREAM, 0)
	if err == nil {
		return unix.Close(fd)
	}
	if !errors.Is(err, unix.EACCES) {
		// Refused by the filter means before the kernel looks at the type.
		return fmt.Errorf("not refused by the filter: %w", err)
	}
	return err
}

func call(number, a, b, c uintptr) error {
	_, _, errno := unix.Syscall(number, a, b, c)
	if errno == unix.EPERM || errno == unix.ENOSYS {
		return errno
	}
	return nil // it was let through, whatever became of it
}

func clone(flags uintptr) error {
	pid, _, errno := unix.RawSyscall6(unix.SYS_CLONE, flags, 0, 0, 0, 0, 0)
	if errno != 0 {
		return errno
	}
	if pid == 0 {
		for {
			_, _, _ = unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
		}
	}
	return nil
}

func renameInScratch() error {
	if err := errors.Join(os.MkdirAll("a/b", 0o700), os.WriteFile("a/f", nil, 0o600)); err != nil {
		return err
	}
	return os.Rename("a/f", "a/b/g")
}

func renameToOutside(dir string) func() error {
	return func() error {
		if err := os.WriteFile("mine", nil, 0o600); err != nil {
			return nil //nolint:nilerr // the attempt itself could not be made: a failure of the test
		}
		return os.Rename("mine", filepath.Join(dir, "mine"))
	}
}

func readCertificates() error {
	for _, path := range []string{"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"} {
		if _, err := os.Stat(path); err == nil {
			_, err := os.ReadFile(path)
			return err
		}
	}
	return nil
}

// anyThread succeeds when the environment can be read through any of the host's
// threads, of which one is the forker that is restricted as this program is.
func anyThread(host string) error {
	entries, err := os.ReadDir("/proc/" + host + "/task")
	if err != nil {
		return err
	}
	last := errors.New("no threads")
	for _, e := range entries {
		if _, err := os.ReadFile("/proc/" + host + "/task/" + e.Name() + "/environ"); err == nil {
			return nil
		} else {
			last = err
		}
		if _, err := os.ReadFile("/proc/" + e.Name() + "/environ"); err == nil {
			return nil
		}
		if err := anyDescriptor("/proc/" + host + "/task/" + e.Name() + "/fd"); err == nil {
			return nil
		}
	}
	return last
}

// anyDescriptor succeeds when one of the descriptors in dir can be looked at or
// opened. Their mere numbers are no secret.
func anyDescriptor(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	last := errors.New("no descriptors")
	for _, e := range entries {
		if _, last = os.Readlink(filepath.Join(dir, e.Name())); last == nil {
			return nil
		}
		if f, err := os.OpenFile(filepath.Join(dir, e.Name()), os.O_RDONLY|unix.O_NONBLOCK, 0); err == nil {
			return f.Close()
		}
	}
	return last
}

func closeConn(c net.Conn) {
	if c != nil {
		_ = c.Close()
	}
}

// simulate runs a filter as the kernel would.
func simulate(filter []unix.SockFilter, arch, number uint32, arg0 uint64) uint32 {
	var data [64]byte
	*(*uint32)(unsafe.Pointer(&data[dataNumber])) = number
	*(*uint32)(unsafe.Pointer(&data[dataArch])) = arch
	*(*uint64)(unsafe.Pointer(&data[dataArg0])) = arg0
	var a uint32
	for i := 0; i < len(filter); i++ {
		in := filter[i]
		jump := func(yes bool) {
			if yes {
				i += int(in.Jt)
			} else {
				i += int(in.Jf)
			}
		}
		switch in.Code {
		case bpfLoad:
			a = *(*uint32)(unsafe.Pointer(&data[in.K]))
		case bpfEqual:
			jump(a == in.K)
		case bpfAnySet:
			jump(a&in.K != 0)
		case bpfAtLeast:
			jump(a >= in.K)
		case bpfReturn:
			return in.K
		}
	}
	return 0
}
