package probe

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// descriptorDir lists the descriptors of the process that reads it.
const descriptorDir = "/dev/fd"

// tableEntry is one process of the host that is alive.
type tableEntry struct {
	pid, parent, group, session int
	start                       int64
}

// zombieState is SZOMB of <sys/proc.h>.
const zombieState = 5

// processTable lists the processes that are alive; zombies are not. The kernel
// shows no session numbers here.
func processTable() []tableEntry {
	all, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil
	}
	var table []tableEntry
	for i := range all {
		p := &all[i]
		if p.Proc.P_stat == zombieState {
			continue
		}
		table = append(table, tableEntry{
			pid: int(p.Proc.P_pid), parent: int(p.Eproc.Ppid), group: int(p.Eproc.Pgid), start: p.Proc.P_starttime.Nano(),
		})
	}
	return table
}

// startOf returns when a process started, in units of its own.
func startOf(pid int) int64 {
	p, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return 0
	}
	return p.Proc.P_starttime.Nano()
}

// processName returns the kernel's name of a process.
func processName(pid int) string {
	p, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return ""
	}
	return unix.ByteSliceToString(p.Proc.P_comm[:])
}

// marked is false: environments of other processes are not read here.
func marked(int, string) bool { return false }

// usageOf returns nothing: sizes and times of other processes are not read here.
func usageOf(int) (peak, now int64, cpu time.Duration) { return 0, 0, 0 }

// awaitEnd waits for the end of a child without reaping it.
func awaitEnd(pid int) error {
	const processByNumber = 1 // P_PID
	var info [128]byte
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, processByNumber, uintptr(pid),
			uintptr(unsafe.Pointer(&info)), syscall.WEXITED|syscall.WNOWAIT, 0, 0)
		if errno == 0 {
			return nil
		}
		if !errors.Is(errno, syscall.EINTR) {
			return errno
		}
	}
}

// imageOf returns nothing: the running image has no path of its own here.
func imageOf(int) string { return "" }

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// portableMemory returns ru_maxrss, which is in bytes here, for the largest
// process, and no figure for the tree.
func portableMemory(usage *syscall.Rusage, _, _ int64) Memory {
	most := usage.Maxrss
	return Memory{
		Process: Figure{Bytes: &most, Scope: scopeProcess, Method: "rusage ru_maxrss of the program and the children it waited for"},
		Tree:    Figure{Scope: scopeTree, Reason: "this host's processes are not sampled"},
	}
}

// differs names what of the file at path, its links followed, is not as wanted;
// it is empty when all is.
func differs(path string, want *Expectation) string {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return fmt.Sprintf("the file cannot be examined: %v", err)
	}
	return difference(uint64(st.Dev), st.Ino, st.Size, st.Ctim.Nano(), want) //nolint:gosec // a device number, compared only
}

// hostEngine returns the engine of this host and why it is not the tracer.
func hostEngine() (engine, string) {
	return portableEngine{}, "the tracer is built for Linux"
}

// reapOrphans does nothing: orphans never come to an ordinary process here.
func reapOrphans(map[int]int64) {}

// reapSession does nothing, for the same reason.
func reapSession(int) {}

// group is nothing here: there are no control groups.
type group struct{}

func newGroup(Limits) (*group, string) { return nil, "this operating system has no cgroups" }

func (*group) fork(j *job, attr *syscall.ProcAttr) (int, time.Time, error) {
	return forkRetrying(j, attr)
}

func (*group) describe(*observed, string) {}
func (*group) processes() []int           { return nil }
func (*group) kill() bool                 { return false }
func (*group) exceeded() facts            { return facts{} }
func (*group) usage() (u groupUsage)      { return u }
func (*group) remove() error              { return nil }
