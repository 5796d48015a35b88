package probe

import (
	"errors"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// process is one traced process: its tasks, and what it has used.
type process struct {
	pid     int
	living  int  // tasks that have not reached their exit stop
	forked  bool // it made a process, so its rusage may hold others' usage
	ending  bool // every task reached its exit stop
	peak    int64
	hasPeak bool // peak was read at an exit stop
	seen    int64
	clock   time.Duration
	stat    processStat
}

// account adds up a tree's usage. The tracer writes it and the sampler reads
// it, under mu. Only the tracer removes a process, just after the kernel released
// it; numbers are given out in turn, so that one in live is not yet another
// program's.
type account struct {
	mu   sync.Mutex
	live map[int]*process

	started, most int
	endedCPU      time.Duration
	user, system  time.Duration
	counters      Counters
	io            IOCounters
	ioUnknown     error // why it is not all of it
	peak          int64 // largest of the processes that are gone
	unread        int   // processes whose peak could not be read at their exit
	unreadSeen    int64 // the largest that was sampled of those
	treePeak      int64
	treeSampled   bool
}

// add notes a new process and returns it.
func (a *account) add(pid int) *process {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := &process{pid: pid}
	a.live[pid] = p
	a.started++
	a.most = max(a.most, len(a.live))
	return p
}

// atExit reads a task that has stopped on its way out.
func (a *account) atExit(p *process, tid int) {
	status, ok := readTaskStatus(tid)
	io, ioErr := readTaskIO(p.pid, tid)
	last := p.living <= 0
	var clock time.Duration
	var stat processStat
	// A process that forked may have collected its children's usage, so that
	// its own is read here, without the little that its end itself costs.
	if last && p.forked {
		clock, _ = processClock(p.pid)
		stat, _ = readProcessStat(p.pid)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if ok {
		p.peak = max(p.peak, status.peak)
		p.hasPeak = true
		a.counters.VoluntarySwitches += status.voluntary
		a.counters.InvoluntarySwitches += status.involuntary
	}
	a.io.add(io)
	if ioErr != nil {
		a.ioUnknown = ioErr
	}
	if last {
		p.ending = true
		p.clock, p.stat = clock, stat
	}
}

// remove adds up a process that is gone; usage is what wait4 reported.
func (a *account) remove(p *process, usage *unix.Rusage) {
	user, system := timeval(usage.Utime), timeval(usage.Stime)
	minor, major := usage.Minflt, usage.Majflt
	if p.forked && p.ending {
		user, system = splitClock(p.clock, p.stat.utime, p.stat.stime)
		minor, major = p.stat.minor, p.stat.major
	} else {
		a.counters.BlocksIn += usage.Inblock
		a.counters.BlocksOut += usage.Oublock
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.live, p.pid)
	a.user += user
	a.system += system
	a.endedCPU += user + system
	a.counters.MinorFaults += minor
	a.counters.MajorFaults += major
	a.peak = max(a.peak, p.peak, p.seen)
	if !p.hasPeak {
		a.ioUnknown = errUnseenEnd
		a.unread++
		a.unreadSeen = max(a.unreadSeen, p.seen)
	}
}

// add adds what another task read and wrote.
func (c *IOCounters) add(other IOCounters) {
	c.Read += other.Read
	c.Written += other.Written
	c.StorageRead += other.StorageRead
	c.StorageWrite += other.StorageWrite
}

// ioCounters returns what the tree read and wrote, or why that is not known.
func (a *account) ioCounters() (*IOCounters, string) {
	switch {
	case errors.Is(a.ioUnknown, unix.ENOENT):
		return nil, string(errNoTaskIO)
	case a.ioUnknown != nil:
		return nil, a.ioUnknown.Error()
	}
	c := a.io
	c.Method = "/proc/PID/task/TID/io at each task's exit stop"
	return &c, ""
}

// splitClock divides an exact total in the proportion of the two tick counts,
// which are too coarse to be used by themselves.
func splitClock(total time.Duration, user, system int64) (time.Duration, time.Duration) {
	if user+system == 0 {
		return total, 0
	}
	u := time.Duration(float64(total) * float64(user) / float64(user+system))
	return u, total - u
}

// cpu returns the CPU time of the tree so far.
func (a *account) cpu() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	total := a.endedCPU
	for pid, p := range a.live {
		if now, err := processClock(pid); err == nil {
			total += now
		} else {
			total += p.clock
		}
	}
	return total
}

// figures returns the two peaks of the tree.
func (a *account) figures() Memory {
	if a.peak == 0 {
		none := "no process could be read before it was gone"
		return Memory{Process: Figure{Scope: scopeProcess, Reason: none}, Tree: Figure{Scope: scopeTree, Reason: none}}
	}
	peak, tree := a.peak, max(a.peak, a.treePeak)
	m := Memory{
		Process: Figure{Bytes: &peak, Scope: scopeProcess, Method: "VmHWM at the exit stop of each process"},
		Tree: Figure{
			Bytes: &tree, Scope: scopeTree, Period: samplePeriod,
			Method: "sum of Pss, sampled, and not below the largest VmHWM",
		},
	}
	if a.unread > 0 {
		m.Process.Method += ", and resident samples of those that ended without one"
		m.Process.Period = samplePeriod
	}
	return m
}
