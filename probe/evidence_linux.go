package probe

import (
	"fmt"
	"io"
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

// compare compares the running image, of which nothing has run, with what is
// expected. The kernel keeps it from being written to as long as it runs.
func (t *tracer) compare() {
	want := t.job.expect
	if want == nil {
		return
	}
	status := &ExpectationStatus{Exact: true, Method: "the image of the process, stopped after its exec"}
	t.seen.expected = status
	image := procPath(t.root, "exe")
	status.Difference = differs(image, want)
	if status.Difference != "" {
		if head := headOf(t.job.path, want); scriptInterpreter(head) != "" {
			status.Exact = false
			status.Method = "the script's path and its interpreter's image, stopped after its exec"
			status.Difference = wrongInterpreter(image, scriptInterpreter(head), want.Interpreter)
		}
	}
	status.Matched = status.Difference == ""
	t.seen.notMatched = !status.Matched
}

// headOf returns the start of the file at path when it is the one that is
// wanted, and nothing when it is another. It is read from the descriptor that was
// compared: the path may lead elsewhere at any time.
func headOf(path string, want *Expectation) []byte {
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer file.Close()
	var st unix.Stat_t
	if unix.Fstat(int(file.Fd()), &st) != nil ||
		difference(uint64(st.Dev), st.Ino, st.Size, st.Ctim.Nano(), want) != "" { //nolint:unconvert // the type differs by processor
		return nil
	}
	head := make([]byte, shebangSize)
	n, _ := io.ReadFull(file, head)
	return head[:n]
}

// wrongInterpreter names what of the running image is not as the script's first
// line, or the expectation of its interpreter, says. An interpreter that is
// itself a script has another image, which only an expectation can name.
func wrongInterpreter(image, named string, want *Expectation) string {
	if want == nil {
		var st unix.Stat_t
		if err := unix.Stat(named, &st); err != nil {
			return fmt.Sprintf("the interpreter %q cannot be examined: %v", named, err)
		}
		if isScript(named) {
			return ""
		}
		want = &Expectation{Dev: uint64(st.Dev), Ino: st.Ino, Size: st.Size, CtimeNS: st.Ctim.Nano()} //nolint:unconvert // the type differs by processor
	}
	if d := differs(image, want); d != "" {
		return "interpreter: " + d
	}
	return ""
}

// differs names what of the file at path, its links followed, is not as wanted;
// it is empty when all is.
func differs(path string, want *Expectation) string {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return fmt.Sprintf("the file cannot be examined: %v", err)
	}
	return difference(uint64(st.Dev), st.Ino, st.Size, st.Ctim.Nano(), want) //nolint:unconvert // the type differs by processor
}

// finish fills in what is known when the tree is gone.
func (t *tracer) finish() {
	a := &t.account
	s := &t.seen
	t.watch.finish(s)
	s.user, s.sys = a.user, a.system
	s.cpu = CPUFigure{Method: "rusage at the end of each process, its CPU clock where it had children", Scope: "tree"}
	s.processes, s.counted, s.peak = a.started, true, a.most
	counters := a.counters
	counters.Method = "rusage at the end of each process; switches from its tasks' exit stops; blocks of processes without children"
	s.counters = &counters
	s.memory = a.figures()
	s.cpuOver = a.user+a.system > t.job.limits.CPU
	s.memoryOver = a.peak > t.job.limits.Memory
}
