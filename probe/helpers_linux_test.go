package probe

import (
	"context"
	"fmt"
	"net"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// engines are the engines of this host, each of which runs the whole suite.
func engines() []engine { return []engine{tracerEngine{}, portableEngine{}} }

// platformHelper is the helper programs that only Linux has.
func platformHelper(name string, args []string) error {
	switch name {
	case "limits":
		for _, r := range []int{unix.RLIMIT_CPU, unix.RLIMIT_FSIZE, unix.RLIMIT_NOFILE, unix.RLIMIT_CORE} {
			var l unix.Rlimit
			if err := unix.Getrlimit(r, &l); err != nil {
				return err
			}
			fmt.Println(l.Cur, l.Max)
		}
		return nil
	case "descriptors":
		// The listing's own descriptor is among them, as the highest.
		entries, err := os.ReadDir("/proc/self/fd")
		for _, e := range entries {
			target, _ := os.Readlink("/proc/self/fd/" + e.Name())
			fmt.Println(e.Name(), target)
		}
		return err
	case "attempt":
		return attempt(args)
	case "files":
		return filesHelper(args[0], args[1:])
	case "leader-exits":
		return leaderExits()
	case "other-thread":
		return otherThread()
	case "dial": // address
		c, err := net.DialTimeout("tcp", args[0], time.Second)
		closeConn(c)
		return err
	case "nested":
		return nestedNamespace()
	case "subreaper": // program and arguments: run it and count zombies
		return subreaper(args)
	}
	return fmt.Errorf("no helper %q", name)
}

// leaderExits ends the first thread alone; another goes on and ends the process.
func leaderExits() error {
	for range 64 {
		go func() {
			runtime.LockOSThread()
			if unix.Gettid() == unix.Getpid() {
				_, _, _ = unix.RawSyscall(unix.SYS_EXIT, 3, 0, 0)
			}
			time.Sleep(time.Minute)
		}()
	}
	// Whichever thread this is: when it is the first, the others wait for it.
	runtime.LockOSThread()
	if unix.Gettid() == unix.Getpid() {
		go func() {
			time.Sleep(300 * time.Millisecond)
			os.Exit(7)
		}()
		time.Sleep(100 * time.Millisecond)
		_, _, _ = unix.RawSyscall(unix.SYS_EXIT, 3, 0, 0)
	}
	time.Sleep(300 * time.Millisecond)
	os.Exit(7)
	return nil
}

// otherThread calls onFreshThread from many places, the leader among them.
func otherThread() error {
	wrong := make(chan bool)
	for range 300 {
		go onFreshThread(func() {
			runtime.Gosched()
			wrong <- unix.Gettid() == unix.Getpid()
		})
		if <-wrong {
			return fmt.Errorf("the leader was used")
		}
	}
	fmt.Println("ok")
	return nil
}

// subreaper runs a program as a host that adopts orphans, with both engines.
func subreaper(args []string) error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return err
	}
	for _, e := range engines() {
		s := Spec{Path: args[0], Args: args, Env: Environment{Path: []string{"/usr/bin", "/bin"}}}
		if _, err := runWith(context.Background(), s, e); err != nil {
			return err
		}
		entries, err := os.ReadDir("/proc")
		if err != nil {
			return err
		}
		for _, entry := range entries {
			var pid int
			if _, err := fmt.Sscan(entry.Name(), &pid); err != nil {
				continue
			}
			if s, ok := readProcessStat(pid); ok && s.parent == os.Getpid() {
				return fmt.Errorf("%s left the child %d in state %c", e.name(), pid, s.state)
			}
		}
	}
	fmt.Println("ok")
	return nil
}
