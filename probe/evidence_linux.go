package probe

import (
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// maxExecuted bounds the list of executed images, which the program controls.
const maxExecuted = 1024

// executed notes the image of a process that is stopped after its exec.
func (t *tracer) executed(pid int) {
	t.watch.executed(pid)
	exe := procPath(pid, "exe")
	var st unix.Stat_t
	if unix.Stat(exe, &st) != nil || len(t.seen.executed) >= maxExecuted {
		return
	}
	path, err := os.Readlink(exe)
	if err != nil {
		return
	}
	e := Executed{Path: path, Dev: uint64(st.Dev), Ino: st.Ino} //nolint:unconvert // the type differs by processor
	if !slices.Contains(t.seen.executed, e) {
		t.seen.executed = append(t.seen.executed, e)
	}
}

// expect holds the program and says whether it is the expected one so far.
func (t *tracer) expect() bool {
	g, difference := newGuard(t.job)
	t.guard = g
	if difference != "" {
		t.seen.expected = &ExpectationStatus{Exact: true, Method: "the file, before the start", Difference: difference}
		t.seen.notMatched = true
		return false
	}
	t.job.busy = g.yield
	return true
}

// unguard gives back what expect held, and says whether it was leased.
func (t *tracer) unguard() {
	t.guard.leases(t.seen.expected)
	t.guard.close()
}

// mismatch ends a run whose program is another than expected.
func (t *tracer) mismatch(difference string) {
	t.seen.expected.Matched, t.seen.expected.Difference = false, difference
	t.seen.notMatched = true
	if !t.killing {
		t.killAll()
	}
}

// differs names what of the file at path, its links followed, is not as wanted;
// it is empty when all is.
func differs(path string, want *Expectation) string {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return fmt.Sprintf("the file cannot be examined: %v", err)
	}
	return differing(&st, want)
}

// finish fills in what is known when the tree is gone.
func (t *tracer) finish() {
	a := &t.account
	s := &t.seen
	t.watch.finish(s)
	if t.guard.after(s.expected); s.expected != nil {
		s.notMatched = !s.expected.Matched
	}
	s.user, s.sys = a.user, a.system
	s.cpu = CPUFigure{Method: "rusage at the end of each process, its CPU clock where it had children", Scope: "tree"}
	s.processes, s.counted, s.peak = a.started, true, a.most
	counters := a.counters
	counters.Method = "rusage at the end of each process; switches from its tasks' exit stops; blocks of processes without children"
	counters.IO, counters.IOReason = a.ioCounters()
	s.counters = &counters
	s.memory = a.figures()
	s.cpuOver = a.user+a.system > t.job.limits.CPU
	s.memoryOver = a.peak > t.job.limits.Memory
}
