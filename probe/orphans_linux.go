package probe

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// adopts reports whether orphans of this process's descendants become its own
// children: it is the first process of its namespace, or a subreaper.
func adopts() bool {
	if os.Getpid() == 1 {
		return true
	}
	var set int32
	err := unix.Prctl(unix.PR_GET_CHILD_SUBREAPER, addressOf(&set), 0, 0, 0)
	return err == nil && set != 0
}

// reapOrphans reaps those of the processes, by number and start time, that are
// zombies of this process. A zombie keeps its number, and the start time tells
// it from another child of the host that came to the same number before, so that
// no other package loses a child here.
func reapOrphans(started map[int]int64) {
	for pid, start := range started {
		s, ok := readProcessStat(pid)
		if ok && s.state == 'Z' && s.parent == os.Getpid() && s.startTime == start {
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG|unix.WALL, nil)
		}
	}
}

// reapSession reaps zombies of this process that are of a child's session or
// group, and so were never children that this process made. The child itself
// must not have been reaped, so that its number is still its session's.
func reapSession(child int) {
	if !adopts() {
		return
	}
	dir, err := os.Open("/proc")
	if err != nil {
		return
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == child {
			continue
		}
		s, ok := readProcessStat(pid)
		if ok && s.state == 'Z' && s.parent == os.Getpid() && (s.session == child || s.group == child) {
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG|unix.WALL, nil)
		}
	}
}
