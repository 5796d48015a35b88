package probe

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// groupRemoval is for how long removing a group is tried. The dead keep it
	// until they are reaped, and orphans are reaped by the host's init, which took
	// seconds when there were thousands.
	groupRemoval = 20 * time.Second
	// groupStale is the age from which an empty group is removed whose maker is
	// gone: a host that is killed cannot remove its own.
	groupStale = time.Minute
	groupName  = "provider-measure-"
	// freezing is for how long a group of version 1 is waited for to freeze
	// before it is killed as it is.
	freezing = 50 * time.Millisecond
)

// group is the control group of one run: a directory in version 2's hierarchy,
// and in each of version 1's that are of use. A nil group is none.
type group struct {
	unified string            // of version 2; empty when there is none
	old     map[string]string // version 1: by controller, the directory
	fd      int               // of unified, for the clone; -1 when there is none
	set     map[string]bool   // controllers whose limit was set
}

// newGroup makes a group and sets its limits, or says why there is none.
func newGroup(l Limits) (*group, string) {
	g, why := makeGroup(findHierarchies())
	if g == nil {
		return nil, why
	}
	g.limit(l)
	return g, ""
}

// makeGroup makes a group's directories below this process's own groups.
func makeGroup(all []hierarchy) (*group, string) {
	g := &group{old: map[string]string{}, fd: -1, set: map[string]bool{}}
	for i := range all {
		h := &all[i]
		for _, parent := range h.parents() {
			dir, err := os.MkdirTemp(parent, fmt.Sprintf("%s%d-", groupName, os.Getpid()))
			if err != nil {
				continue
			}
			g.adopt(h, dir)
			removeStale(parent, time.Now())
			break
		}
	}
	if g.unified != "" {
		fd, err := unix.Open(g.unified, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			_ = g.remove()
			return nil, "the cgroup could not be opened: " + err.Error()
		}
		g.fd = fd
	}
	if g.method() == "" {
		_ = g.remove()
		if len(all) == 0 {
			return nil, "no cgroup hierarchy is mounted here"
		}
		return nil, "no cgroup that this process may divide was given to it"
	}
	return g, ""
}

// removeStale removes from parent what killed hosts have left. The kernel keeps
// a group that is not empty.
func removeStale(parent string, now time.Time) {
	all, _ := filepath.Glob(filepath.Join(parent, groupName+"*"))
	for _, dir := range all {
		number, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), groupName), "-")
		pid, err := strconv.Atoi(number)
		if err != nil || pid <= 0 || !errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
			continue
		}
		if info, err := os.Lstat(dir); err == nil && now.Sub(info.ModTime()) > groupStale {
			_ = unix.Rmdir(dir)
		}
	}
}

// adopt notes a directory that was made in h.
func (g *group) adopt(h *hierarchy, dir string) {
	if h.unified {
		g.unified = dir
		return
	}
	for _, c := range h.controllers {
		g.old[c] = dir
	}
}

// dirs are the group's directories, each once.
func (g *group) dirs() []string {
	var all []string
	seen := map[string]bool{"": true}
	for _, dir := range []string{g.unified, g.old["memory"], g.old["pids"], g.old["cpuacct"], g.old["freezer"]} {
		if !seen[dir] {
			seen[dir] = true
			all = append(all, dir)
		}
	}
	return all
}

// method is how the group kills, or empty when it cannot kill all.
func (g *group) method() string {
	switch {
	case g == nil:
		return ""
	case g.unified != "" && present(g.unified, "cgroup.kill"):
		return "a cgroup (version 2, cgroup.kill)"
	case g.unified != "" && present(g.unified, "cgroup.freeze"):
		return "a cgroup (version 2, frozen and killed)"
	case g.old["freezer"] != "":
		return "a cgroup (version 1, frozen and killed)"
	case g.old["pids"] != "":
		return "a cgroup (version 1, kept from forking and killed)"
	}
	return ""
}

// limit sets what the kernel then enforces. A limit that cannot be set is not in
// set and not claimed.
func (g *group) limit(l Limits) {
	if dir := g.dirOf("pids", "pids.max"); dir != "" {
		// The thread that starts the program is a task of the group of version 1
		// until it ends, which is before the program can have made as many.
		most := l.threads()
		if g.old["pids"] == dir {
			most++
		}
		g.set["pids"] = write(dir, "pids.max", strconv.Itoa(most)) == nil
	}
	memory := strconv.FormatInt(l.Memory, 10)
	if dir := g.old["memory"]; dir != "" {
		g.set["memory"] = write(dir, "memory.limit_in_bytes", memory) == nil
		_ = write(dir, "memory.memsw.limit_in_bytes", memory) // absent where swap is not accounted for
	} else if dir := g.unified; dir != "" && write(dir, "memory.max", memory) == nil {
		g.set["memory"] = true
		_ = write(dir, "memory.swap.max", "0")
		_ = write(dir, "memory.oom.group", "1")
	}
}

// dirOf is the directory of a controller that has the file name, in either version.
func (g *group) dirOf(controller, name string) string {
	for _, dir := range []string{g.old[controller], g.unified} {
		if dir != "" && present(dir, name) {
			return dir
		}
	}
	return ""
}

// fork starts the job's child in the group, in which it then is from its first
// moment. In version 2 the kernel puts it there (CLONE_INTO_CGROUP, Linux 5.7).
// In version 1 a child is where the thread that makes it is, so that a thread
// goes into the group, makes the child, and ends.
func (g *group) fork(j *job, attr *syscall.ProcAttr) (pid int, begun time.Time, err error) {
	if g == nil {
		return forkRetrying(j, attr)
	}
	if g.fd >= 0 {
		attr.Sys.UseCgroupFD, attr.Sys.CgroupFD = true, g.fd
	}
	if len(g.old) == 0 {
		return forkRetrying(j, attr)
	}
	done := make(chan struct{})
	go onFreshThread(func() {
		defer close(done)
		for _, dir := range g.dirs() {
			if dir == g.unified {
				continue
			}
			if err = write(dir, "tasks", "0"); err != nil {
				return
			}
		}
		pid, begun, err = forkRetrying(j, attr)
	})
	<-done
	return pid, begun, err
}

// processes lists the processes that are in the group, zombies not.
func (g *group) processes() []int {
	if g == nil {
		return nil
	}
	var all []int
	for _, dir := range g.dirs() {
		text, err := os.ReadFile(path.Join(dir, "cgroup.procs"))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			// 0 is a process of another namespace, and this one's own thread is in
			// the group until it ends.
			if pid, err := strconv.Atoi(strings.TrimSpace(line)); err == nil && pid > 0 && pid != os.Getpid() {
				all = append(all, pid)
			}
		}
	}
	return all
}

// kill sends SIGKILL to all that is in the group, and lets it be for those that
// were there at one moment: cgroup.kill takes what is forked meanwhile too, and
// frozen processes fork nothing. It reports whether anybody was left to kill.
func (g *group) kill() (some bool) {
	if g == nil {
		return false
	}
	pids := g.processes()
	if len(pids) == 0 {
		return false
	}
	if g.unified != "" && write(g.unified, "cgroup.kill", "1") == nil {
		return true
	}
	if dir := g.dirOf("pids", "pids.max"); dir != "" {
		_ = write(dir, "pids.max", "0")
	}
	thaw := g.freeze()
	for _, pid := range g.processes() {
		_ = unix.Kill(pid, unix.SIGKILL)
	}
	thaw()
	return true
}

// freeze stops the group, as far as it can be, and returns what starts it again.
func (g *group) freeze() (thaw func()) {
	if g.unified != "" && write(g.unified, "cgroup.freeze", "1") == nil {
		waitFor(freezing, func() bool { n, _ := keyed(g.unified, "cgroup.events", "frozen"); return n == 1 })
		return func() { _ = write(g.unified, "cgroup.freeze", "0") }
	}
	dir := g.old["freezer"]
	if dir == "" || write(dir, "freezer.state", "FROZEN") != nil {
		return func() {}
	}
	waitFor(freezing, func() bool { return strings.TrimSpace(text(dir, "freezer.state")) == "FROZEN" })
	return func() { _ = write(dir, "freezer.state", "THAWED") }
}

// exceeded reports which limits the kernel held the group to.
func (g *group) exceeded() facts {
	if g == nil {
		return facts{}
	}
	var f facts
	if dir := g.old["memory"]; dir != "" {
		n, _ := keyed(dir, "memory.oom_control", "oom_kill")
		f.memory = n > 0
	} else if g.unified != "" {
		n, _ := keyed(g.unified, "memory.events", "oom_kill")
		f.memory = n > 0
	}
	if dir := g.dirOf("pids", "pids.events"); dir != "" {
		n, _ := keyed(dir, "pids.events", "max")
		f.processes = n > 0
	}
	f.memory, f.processes = f.memory && g.set["memory"], f.processes && g.set["pids"]
	return f
}

// usage reads the group's accounts.
func (g *group) usage() groupUsage {
	var u groupUsage
	if g == nil {
		return u
	}
	user, okUser := keyed(g.unified, "cpu.stat", "user_usec")
	system, okSystem := keyed(g.unified, "cpu.stat", "system_usec")
	if okUser && okSystem {
		u.cpuMethod, u.user, u.system = "cpu.stat of the run's cgroup", user*1000, system*1000
	} else if total, ok := single(g.old["cpuacct"], "cpuacct.usage"); ok {
		// The two parts are counted by ticks there, and the total is not.
		user, _ = single(g.old["cpuacct"], "cpuacct.usage_user")
		system, _ = single(g.old["cpuacct"], "cpuacct.usage_sys")
		u.cpuMethod = "cpuacct.usage of the run's cgroup, the start included"
		userPart, systemPart := splitClock(time.Duration(total), user, system)
		u.user, u.system = int64(userPart), int64(systemPart)
	}
	const scope = " of the run's cgroup, with its page cache and kernel memory"
	if peak, ok := single(g.old["memory"], "memory.max_usage_in_bytes"); ok {
		u.memoryMethod, u.memory = "memory.max_usage_in_bytes"+scope, peak
	} else if peak, ok := single(g.unified, "memory.peak"); ok {
		u.memoryMethod, u.memory = "memory.peak"+scope, peak
	}
	return u
}

// remove removes the group, in which nobody is alive.
func (g *group) remove() error {
	if g == nil {
		return nil
	}
	if g.fd >= 0 {
		_ = unix.Close(g.fd)
		g.fd = -1
	}
	var all error
	for _, dir := range g.dirs() {
		var err error
		waitFor(groupRemoval, func() bool {
			err = unix.Rmdir(dir)
			return !errors.Is(err, unix.EBUSY)
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			all = errors.Join(all, &Error{Code: CodeGroup, Op: "remove the cgroup", Path: dir, Err: err})
		}
	}
	return all
}

// waitFor asks until holds says yes, for at most the time given.
func waitFor(most time.Duration, holds func() bool) {
	for deadline := time.Now().Add(most); !holds() && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
}

// present reports whether dir has the file name. Which ones a group has depends
// on the kernel and on what was handed down.
func present(dir, name string) bool { return exists(path.Join(dir, name)) }

// write writes a group's file, which must be there.
func write(dir, name, value string) error {
	file, err := os.OpenFile(path.Join(dir, name), os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(value)
	return errors.Join(err, file.Close())
}

func text(dir, name string) string {
	if dir == "" {
		return ""
	}
	data, err := os.ReadFile(path.Join(dir, name))
	if err != nil {
		return ""
	}
	return string(data)
}

// single reads a file that is one number.
func single(dir, name string) (int64, bool) {
	n, err := strconv.ParseInt(strings.TrimSpace(text(dir, name)), 10, 64)
	return n, err == nil && n >= 0
}

// keyed reads the number of one key of a file whose lines are keys and numbers.
func keyed(dir, name, key string) (int64, bool) { return keyedIn(text(dir, name), key) }

func keyedIn(lines, key string) (int64, bool) {
	for line := range strings.Lines(lines) {
		name, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if !ok || name != key {
			continue
		}
		n, err := strconv.ParseInt(value, 10, 64)
		return n, err == nil && n >= 0
	}
	return 0, false
}
