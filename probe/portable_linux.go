package probe

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// descriptorDir lists the descriptors of the process that reads it.
const descriptorDir = "/proc/self/fd"

// tableEntry is one process of the host that is alive.
type tableEntry struct {
	pid, parent, group, session int
	start                       int64
}

// processTable lists the processes that are alive; zombies are not.
func processTable() []tableEntry {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	var table []tableEntry
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		s, ok := readProcessStat(pid)
		if !ok || s.state == 'Z' || s.state == 'X' {
			continue
		}
		table = append(table, tableEntry{pid, s.parent, s.group, s.session, s.startTime})
	}
	return table
}

// startOf returns when a process started, in units of its own.
func startOf(pid int) int64 {
	s, _ := readProcessStat(pid)
	return s.startTime
}

// marked reports whether the process's environment names the scratch directory,
// as that of every descendant does that did not change it. Kernel threads and
// processes of other users have none to read.
func marked(pid int, scratch string) bool {
	if pid == os.Getpid() {
		return false
	}
	text, err := os.ReadFile(procPath(pid, "environ"))
	return err == nil && bytes.Contains(text, []byte("HOME="+scratch+"\x00"))
}

// usageOf returns the peak and the current memory of a process and its CPU time.
func usageOf(pid int) (peak, now int64, cpu time.Duration) {
	status, _ := readTaskStatus(pid)
	now, ok := proportionalBytes(pid)
	if !ok {
		now, _ = residentBytes(pid)
	}
	cpu, _ = processClock(pid)
	return status.peak, now, cpu
}

// awaitEnd waits for the end of a child without reaping it.
func awaitEnd(pid int) error {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// imageOf returns a path to the running image of a process.
func imageOf(pid int) string { return procPath(pid, "exe") }

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// portableMemory chooses the figures. wait4's ru_maxrss begins at the peak of
// the parent that forked, so it is the child's own only when it is above that.
func portableMemory(usage *syscall.Rusage, sampled, tree int64) Memory {
	m := Memory{Process: Figure{Scope: scopeProcess}, Tree: Figure{Scope: scopeTree}}
	host, known := readTaskStatus(os.Getpid())
	if most := usage.Maxrss << 10; known && most > host.peak {
		m.Process.Bytes, m.Process.Method = &most, "rusage ru_maxrss, above the host's own peak"
	} else if sampled > 0 {
		m.Process.Bytes, m.Process.Method = &sampled, "VmHWM, sampled"
		m.Process.Period = searchPeriod
	} else {
		m.Process.Reason = "the program ended before the first sample, and ru_maxrss is the host's own peak"
	}
	if m.Process.Bytes != nil {
		most := max(tree, *m.Process.Bytes)
		m.Tree.Bytes, m.Tree.Method = &most, "sum of Pss, sampled, and not below the largest process"
		m.Tree.Period = searchPeriod
	} else {
		m.Tree.Reason = m.Process.Reason
	}
	return m
}
