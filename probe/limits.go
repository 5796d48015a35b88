package probe

import (
	"fmt"
	"time"
)

// Defaults and bounds of [Limits]. The bounds keep sums and conversions to the
// kernel's units far from overflow, and a stream limit within what can be held
// in memory.
const (
	defaultWall      = time.Minute
	defaultCPU       = 5 * time.Minute
	defaultMemory    = 4 << 30
	defaultFileSize  = 4 << 30
	defaultStream    = 8 << 20
	defaultProcesses = 256
	defaultOpenFiles = 1024

	maxWall      = 24 * time.Hour
	maxCPU       = 7 * 24 * time.Hour
	maxBytes     = 1 << 50
	maxStream    = 1 << 30
	maxProcesses = 1 << 16
	minOpenFiles = 16
	maxOpenFiles = 1 << 20

	// threadsPerProcess bounds threads by the process limit, so that a bomb of
	// threads ends as one of processes does. Runtimes start a few per core.
	threadsPerProcess = 16
)

// withDefaults returns l with its defaults put in, or the first limit that is
// out of bounds.
func (l Limits) withDefaults() (Limits, error) {
	wall, cpu := int64(l.Wall), int64(l.CPU)
	processes, files := int64(l.Processes), int64(l.OpenFiles)
	for _, f := range []struct {
		name             string
		value            *int64
		fallback, lo, hi int64
	}{
		{"Wall", &wall, int64(defaultWall), 1, int64(maxWall)},
		{"CPU", &cpu, int64(defaultCPU), 1, int64(maxCPU)},
		{"Memory", &l.Memory, defaultMemory, 1, maxBytes},
		{"FileSize", &l.FileSize, defaultFileSize, 1, maxBytes},
		{"Stdout", &l.Stdout, defaultStream, 1, maxStream},
		{"Stderr", &l.Stderr, defaultStream, 1, maxStream},
		{"Processes", &processes, defaultProcesses, 1, maxProcesses},
		{"OpenFiles", &files, defaultOpenFiles, minOpenFiles, maxOpenFiles},
	} {
		if *f.value == 0 {
			*f.value = f.fallback
		}
		if *f.value < f.lo || *f.value > f.hi {
			return Limits{}, &Error{
				Code: CodeBadLimit, Op: "check limit", Path: f.name,
				Err: fmt.Errorf("%d is outside %d to %d", *f.value, f.lo, f.hi),
			}
		}
	}
	l.Wall, l.CPU = time.Duration(wall), time.Duration(cpu)
	l.Processes, l.OpenFiles = int(processes), int(files)
	return l, nil
}

// threads is the most threads that may be alive at once.
func (l Limits) threads() int { return l.Processes * threadsPerProcess }

// cpuSeconds is l.CPU in whole seconds for RLIMIT_CPU, which knows no less, and
// one more, so that the engine's own finer count ends the run first.
func (l Limits) cpuSeconds() uint64 {
	return uint64((l.CPU+time.Second-1)/time.Second) + 1 //nolint:gosec // bounded by maxCPU
}

// statuses returns what is said of each limit; method gives the method by the
// limit's name, and one that it does not give is not enforced, for why.
func (l Limits) statuses(method map[string]string, why string) []LimitStatus {
	var all []LimitStatus
	for _, f := range []struct {
		name  string
		value int64
	}{
		{"wall", int64(l.Wall)},
		{"cpu", int64(l.CPU)},
		{"memory", l.Memory},
		{"file_size", l.FileSize},
		{"stdout", l.Stdout},
		{"stderr", l.Stderr},
		{"processes", int64(l.Processes)},
		{"open_files", int64(l.OpenFiles)},
	} {
		s := LimitStatus{Limit: f.name, Value: f.value, Method: method[f.name]}
		if s.Enforced = s.Method != ""; !s.Enforced {
			s.Reason = why
		}
		all = append(all, s)
	}
	return all
}
