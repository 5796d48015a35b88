package probe

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// filesHelper is the helper programs that use files in uncommon ways. All work
// in the current directory.
func filesHelper(name string, args []string) error {
	switch name {
	case "relative":
		return relativeFiles()
	case "renamed":
		return renamedFiles()
	case "openat2":
		return openat2Files()
	case "handle":
		return handleFile()
	case "path-only":
		return pathOnly()
	case "unnamed":
		return unnamedFiles()
	case "memfd": // program: execute a copy of it in memory
		return memoryFile(args[0])
	case "fexecve": // program or script and arguments: execute its descriptor
		return executeDescriptor(args[0], args)
	case "many": // threads, each of which opens files of its own
		return manyFiles(number(args[0]))
	case "numbered": // open this many files of different names
		for i := range number(args[0]) {
			if err := os.WriteFile(fmt.Sprint("f", i), nil, 0o600); err != nil {
				return err
			}
		}
		return nil
	case "signals": // FIFO: open it while signals arrive
		return openUnderSignals(args[0])
	case "filter": // which filter of the program's own to install
		return ownFilter(args[0])
	case "undumpable":
		if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
			return err
		}
		_, err := os.ReadFile("/etc/passwd")
		return err
	case "inherit": // map a file whose descriptor was inherited, as 0
		_, err := unix.Mmap(0, 0, 1, unix.PROT_READ, unix.MAP_PRIVATE)
		return err
	}
	return fmt.Errorf("no helper files %q", name)
}

// touch makes files and the directories that they are in.
func touch(names ...string) error {
	for _, name := range names {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(name, []byte(name), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func openAndClose(dir int, name string, flags int) error {
	fd, err := unix.Openat(dir, name, flags, 0o600)
	if err != nil {
		return fmt.Errorf("open %s: %w", name, err)
	}
	return unix.Close(fd)
}

// relativeFiles opens relative to a directory that is entered by path and by
// descriptor, to another one's descriptor, and through links.
func relativeFiles() error {
	if err := touch("a/b/one", "a/b/two", "a/three", "a/four", "a/five"); err != nil {
		return err
	}
	if err := errors.Join(os.Symlink("b/../three", "a/link"), os.Symlink("a", "dirlink")); err != nil {
		return err
	}
	dir, err := unix.Open("a", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	return errors.Join(
		unix.Chdir("a/b"), openAndClose(unix.AT_FDCWD, "one", unix.O_RDONLY), openAndClose(dir, "b/two", unix.O_RDONLY),
		unix.Fchdir(dir), openAndClose(unix.AT_FDCWD, "link", unix.O_RDONLY), openAndClose(unix.AT_FDCWD, "../dirlink/four", unix.O_RDONLY),
		openAndClose(dir, "five", unix.O_RDWR),
	)
}

// renamedFiles renames files while they are open, puts others in their place,
// removes them and opens them again through their descriptors.
func renamedFiles() error {
	if err := touch("first", "second", "third", "odd (deleted)"); err != nil {
		return err
	}
	first, err := os.Open("first")
	if err != nil {
		return err
	}
	defer first.Close()
	again := func() error {
		return openAndClose(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", first.Fd()), unix.O_RDONLY)
	}
	return errors.Join(
		os.Rename("first", "moved"), again(), os.Rename("second", "first"), openAndClose(unix.AT_FDCWD, "first", unix.O_RDONLY),
		os.Remove("moved"), again(), openAndClose(unix.AT_FDCWD, "odd (deleted)", unix.O_RDONLY),
		os.Link("third", "other"), os.Remove("third"), openAndClose(unix.AT_FDCWD, "other", unix.O_RDONLY),
	)
}

func openat2Files() error {
	if err := touch("two"); err != nil {
		return err
	}
	for _, how := range []unix.OpenHow{
		{Flags: unix.O_RDONLY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}, {Flags: unix.O_WRONLY | unix.O_CLOEXEC},
	} {
		name := "two"
		if how.Flags&unix.O_WRONLY != 0 {
			name = "two-new"
			how.Flags |= unix.O_CREAT
			how.Mode = 0o600
		}
		fd, err := unix.Openat2(unix.AT_FDCWD, name, &how)
		if err != nil {
			return err
		}
		_ = unix.Close(fd)
	}
	how := unix.OpenHow{Flags: unix.O_RDONLY, Resolve: unix.RESOLVE_BENEATH}
	if _, err := unix.Openat2(unix.AT_FDCWD, "/etc/passwd", &how); err == nil {
		return errors.New("RESOLVE_BENEATH opened a path from the root")
	}
	return nil
}

// handleFile opens a file by its handle, which the isolation refuses.
func handleFile() error {
	handle, _, err := unix.NameToHandleAt(unix.AT_FDCWD, "/etc/passwd", 0)
	if err != nil {
		fmt.Println(err)
		return nil
	}
	dir, err := unix.Open("/etc", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	_, err = unix.OpenByHandleAt(dir, handle, unix.O_RDONLY)
	fmt.Println(err)
	return nil
}

func pathOnly() error {
	if err := errors.Join(touch("target"), os.Symlink("target", "link")); err != nil {
		return err
	}
	return errors.Join(
		openAndClose(unix.AT_FDCWD, "target", unix.O_PATH),
		openAndClose(unix.AT_FDCWD, "link", unix.O_PATH|unix.O_NOFOLLOW),
		openAndClose(unix.AT_FDCWD, ".", unix.O_PATH),
	)
}

// unnamedFiles uses files that have no name: never, no longer, or in memory.
func unnamedFiles() error {
	fd, err := unix.Open(".", unix.O_TMPFILE|unix.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	_ = unix.Close(fd)
	memory, err := unix.MemfdCreate("held", 0)
	if err != nil {
		return err
	}
	return openAndClose(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", memory), unix.O_RDWR)
}

func memoryFile(program string) error {
	data, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	fd, err := unix.MemfdCreate("program", unix.MFD_CLOEXEC)
	if err != nil {
		return err
	}
	if _, err := unix.Write(fd, data); err != nil {
		return err
	}
	return execveat(fd, []string{program})
}

func executeDescriptor(path string, args []string) error {
	fd, err := unix.Open(path, unix.O_PATH, 0)
	if err != nil {
		return err
	}
	return execveat(fd, args)
}

func execveat(fd int, args []string) error {
	argv, err := syscall.SlicePtrFromStrings(args)
	if err != nil {
		return err
	}
	env, err := syscall.SlicePtrFromStrings(os.Environ())
	if err != nil {
		return err
	}
	empty := []byte{0}
	runtime.LockOSThread()
	_, _, errno := unix.Syscall6(unix.SYS_EXECVEAT, uintptr(fd), uintptr(unsafe.Pointer(&empty[0])),
		uintptr(unsafe.Pointer(&argv[0])), uintptr(unsafe.Pointer(&env[0])), unix.AT_EMPTY_PATH, 0)
	return errno
}

func manyFiles(threads int) error {
	done := make(chan error)
	for i := range threads {
		go func() {
			runtime.LockOSThread()
			var err error
			for j := range 50 {
				name := fmt.Sprintf("%d-%d", i, j)
				err = errors.Join(err, touch(name), openAndClose(unix.AT_FDCWD, name, unix.O_RDONLY))
			}
			done <- err
		}()
	}
	var err error
	for range threads {
		err = errors.Join(err, <-done)
	}
	return err
}

// openUnderSignals opens a FIFO, which waits for a writer, while signals
// interrupt it, then finds itself a writer.
func openUnderSignals(fifo string) error {
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		return err
	}
	signals := make(chan os.Signal, 100)
	signal.Notify(signals, unix.SIGUSR1)
	runtime.LockOSThread()
	reader := unix.Gettid()
	go func() {
		for range 30 {
			_ = unix.Tgkill(unix.Getpid(), reader, unix.SIGUSR1)
			time.Sleep(2 * time.Millisecond)
		}
		fd, _ := unix.Open(fifo, unix.O_WRONLY, 0)
		_ = unix.Close(fd)
	}()
	fd, err := unix.Open(fifo, unix.O_RDONLY, 0)
	for errors.Is(err, unix.EINTR) {
		fd, err = unix.Open(fifo, unix.O_RDONLY, 0)
	}
	if err != nil {
		return err
	}
	fmt.Println(len(signals) > 0)
	return unix.Close(fd)
}

// ownFilter installs a filter and shows what it does.
func ownFilter(kind string) error {
	number, action, flags := uint32(unix.SYS_OPENAT), uint32(unix.SECCOMP_RET_TRACE|7), uintptr(0)
	switch kind {
	case "errno":
		action = unix.SECCOMP_RET_ERRNO | uint32(unix.ETXTBSY)
	case "other":
		number = unix.SYS_GETPGID
	case "listener":
		number, action, flags = unix.SYS_GETPGID, unix.SECCOMP_RET_ALLOW, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER
	}
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	filter := []unix.SockFilter{
		{Code: bpfLoad, K: dataNumber},
		{Code: bpfEqual, Jf: 1, K: number},
		{Code: bpfReturn, K: action},
		{Code: bpfReturn, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return errno
	}
	if flags != 0 {
		_ = unix.Close(int(fd))
	}
	_, _, errno = unix.RawSyscall(unix.SYS_GETPGID, 0, 0, 0)
	name := []byte("/etc/passwd\x00")
	at := unix.AT_FDCWD
	opened, _, openErrno := unix.RawSyscall6(unix.SYS_OPENAT, uintptr(at), uintptr(unsafe.Pointer(&name[0])), unix.O_RDONLY, 0, 0, 0)
	line := fmt.Sprintln(int(errno), int(openErrno), int(opened) >= 0)
	_, err := unix.Write(1, []byte(line))
	unix.Exit(0)
	return err
}
