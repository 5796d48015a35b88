package probe

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// procFile reads the start of a file of /proc, at most 4096 bytes, without the
// overhead of os.File: the engine reads them while a process waits.
func procFile(buf *[4096]byte, path string) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	for {
		n, err := unix.Read(fd, buf[:])
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return buf[:n], nil
	}
}

// procPath is the path of a file of one process.
func procPath(pid int, name string) string {
	return "/proc/" + strconv.Itoa(pid) + "/" + name
}

// field returns the number after "name:" at the start of a line of text.
func field(text []byte, name string) (int64, bool) {
	for len(text) > 0 {
		var line []byte
		line, text, _ = bytes.Cut(text, []byte("\n"))
		rest, ok := bytes.CutPrefix(line, []byte(name))
		if !ok || len(rest) == 0 || rest[0] != ':' {
			continue
		}
		words := bytes.Fields(rest[1:])
		if len(words) == 0 {
			return 0, false
		}
		n, err := strconv.ParseInt(string(words[0]), 10, 64)
		return n, err == nil
	}
	return 0, false
}

// fields puts the numbers of the named lines of text into out, reading it once,
// and reports whether all were there.
func fields(text []byte, names []string, out []int64) bool {
	found := 0
	for len(text) > 0 && found < len(names) {
		var line []byte
		line, text, _ = bytes.Cut(text, []byte("\n"))
		for i, name := range names {
			if len(line) > len(name) && line[len(name)] == ':' && string(line[:len(name)]) == name {
				out[i], _ = field(line, name)
				found++
				break
			}
		}
	}
	return found == len(names)
}

// taskStatus is what the engine needs of /proc/TID/status.
type taskStatus struct {
	peak                   int64 // VmHWM in bytes
	voluntary, involuntary int64
}

// readTaskStatus reads a task that still has its memory.
func readTaskStatus(tid int) (taskStatus, bool) {
	var buf [4096]byte
	text, err := procFile(&buf, procPath(tid, "status"))
	if err != nil {
		return taskStatus{}, false
	}
	var n [4]int64
	ok := fields(text, []string{"VmHWM", "VmRSS", "voluntary_ctxt_switches", "nonvoluntary_ctxt_switches"}, n[:])
	// The kernel notes the high-water mark lazily: the current size may be above it.
	return taskStatus{peak: max(n[0], n[1]) << 10, voluntary: n[2], involuntary: n[3]}, ok
}

// readTaskIO reads what one task has read and written, without other tasks of its
// process and without the children that these have waited for, both of which
// /proc/PID/io has in it.
func readTaskIO(pid, tid int) (IOCounters, error) {
	var buf [4096]byte
	text, err := procFile(&buf, procPath(pid, "task/"+strconv.Itoa(tid)+"/io"))
	if err != nil {
		return IOCounters{}, err
	}
	var n [4]int64
	if !fields(text, []string{"rchar", "wchar", "read_bytes", "write_bytes"}, n[:]) {
		return IOCounters{}, errNoTaskIO
	}
	return IOCounters{Read: n[0], Written: n[1], StorageRead: n[2], StorageWrite: n[3]}, nil
}

// residentBytes returns the resident set of a process.
func residentBytes(pid int) (int64, bool) {
	var buf [4096]byte
	text, err := procFile(&buf, procPath(pid, "statm"))
	if err != nil {
		return 0, false
	}
	words := bytes.Fields(text)
	if len(words) < 2 {
		return 0, false
	}
	pages, err := strconv.ParseInt(string(words[1]), 10, 64)
	return pages * int64(os.Getpagesize()), err == nil
}

// proportionalBytes returns the proportional set of a process, in which a page
// that is shared by n processes counts for 1/n in each.
func proportionalBytes(pid int) (int64, bool) {
	var buf [4096]byte
	text, err := procFile(&buf, procPath(pid, "smaps_rollup"))
	if err != nil {
		return 0, false
	}
	kib, ok := field(text, "Pss")
	return kib << 10, ok
}

// processStat is what the engine needs of /proc/PID/stat.
type processStat struct {
	state         byte
	parent        int
	group         int
	session       int
	minor, major  int64 // page faults of the process itself
	utime, stime  int64 // ticks
	startTime     int64 // ticks since boot: tells two holders of one number apart
	residentPages int64
}

// readProcessStat reads the fields after the name, which may hold blanks and
// parentheses of its own.
func readProcessStat(pid int) (processStat, bool) {
	var buf [4096]byte
	text, err := procFile(&buf, procPath(pid, "stat"))
	if err != nil {
		return processStat{}, false
	}
	return parseProcessStat(text)
}

func parseProcessStat(text []byte) (processStat, bool) {
	end := bytes.LastIndexByte(text, ')')
	if end < 0 {
		return processStat{}, false
	}
	words := bytes.Fields(text[end+1:])
	const first = 3 // the number of the first field here, as in proc(5)
	if len(words) <= 24-first {
		return processStat{}, false
	}
	bad := len(words[0]) != 1 || words[0][0] >= utf8.RuneSelf // the state is one letter
	number := func(n int) int64 {
		v, err := strconv.ParseInt(string(words[n-first]), 10, 64)
		bad = bad || err != nil
		return v
	}
	s := processStat{
		state: words[0][0], parent: int(number(4)), group: int(number(5)), session: int(number(6)),
		minor: number(10), major: number(12), utime: number(14), stime: number(15),
		startTime: number(22), residentPages: number(24),
	}
	return s, !bad
}

// processName returns the kernel's name of a process, which is not its argument
// list and so holds no secret of a command line.
func processName(pid int) string {
	var buf [4096]byte
	text, err := procFile(&buf, procPath(pid, "comm"))
	if err != nil {
		return ""
	}
	return string(bytes.TrimRight(text, "\n"))
}

// timeval converts a kernel time.
func timeval(t unix.Timeval) time.Duration { return time.Duration(t.Nano()) }
