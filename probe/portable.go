//go:build linux || darwin

package probe

import (
	"errors"
	"syscall"
	"time"
)

const (
	// searchPeriod is how often the portable engine searches for descendants.
	searchPeriod = 20 * time.Millisecond
	// sweepPause lets killed processes disappear before the next search.
	sweepPause = 2 * time.Millisecond
	// sweepEmpty is how many searches in a row must find nobody.
	sweepEmpty = 3
	// sweepMost bounds the killing of a tree that forks faster than it is found.
	sweepMost = 20 * time.Second
)

// portableEngine runs a job in a session and process group of its own and finds
// its descendants by searching the process table. It changes nothing of the
// host process: above all it does not make it a subreaper, which would give it
// the orphans of its other children as well.
//
// What it cannot do is said in the result: a process that leaves the group, the
// session and its parent between two searches, and drops the environment that
// marks it, is not found.
type portableEngine struct{}

func (portableEngine) name() string { return EnginePortable }

// portable is one run. found is used by one goroutine at a time: the searcher
// while the program runs, and after that the run itself.
type portable struct {
	job   *job
	root  int
	found map[int]*foundProcess
	seen  observed
	group *group // nil where none can be made

	treePeak int64
}

// foundProcess is a descendant that was found.
type foundProcess struct {
	start int64 // tells it from a later holder of its number
	peak  int64
	cpu   time.Duration
	alive bool
}

func (e portableEngine) run(j *job) (seen *observed, err error) {
	p := &portable{job: j, found: map[int]*foundProcess{}}
	p.seen.isolation = e.properties(j)
	p.seen.limits = portableLimits(j.limits)
	var why string
	p.group, why = newGroup(j.limits)
	defer func() { err = errors.Join(err, p.group.remove()) }()
	p.group.describe(&p.seen, why)
	if p.compare(j.path, "the path, before the start"); p.seen.notMatched {
		return &p.seen, nil
	}
	attr := &syscall.ProcAttr{
		Dir: j.scratch, Env: j.env, Files: childFiles(j.files),
		Sys: &syscall.SysProcAttr{Setsid: true},
	}
	pid, begun, err := p.group.fork(j, attr)
	if err != nil {
		p.seen.start = startError(j.path, err)
		return &p.seen, nil
	}
	p.root = pid
	p.seen.counted = false
	p.found[pid] = &foundProcess{start: startOf(pid), alive: true}
	p.measure()
	if p.compareImage(); p.seen.notMatched {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	// The number is the child's until it is reaped below, so this cannot hit
	// another process.
	j.stop.onStop(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	quit, searched := make(chan struct{}), make(chan struct{})
	go p.searcher(quit, searched)
	err = awaitEnd(pid)
	p.seen.wall = time.Since(begun)
	j.stop.stop(p.group.exceeded())
	j.stop.close()
	close(quit)
	<-searched
	if err != nil {
		return nil, &Error{Code: CodeObserve, Op: "wait for", Path: j.path, Err: err}
	}
	return p.end()
}

// searcher measures the tree until quit is closed.
func (p *portable) searcher(quit, searched chan struct{}) {
	defer close(searched)
	ticker := time.NewTicker(searchPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-quit:
			return
		case <-ticker.C:
			p.search()
			p.measure()
			p.enforce()
		}
	}
}

// search marks which processes of the tree are alive. A process belongs to it
// when it is in the run's cgroup, when its parent, its process group or its
// session belongs to it, or when its environment names the scratch directory.
// One that was found stays found.
func (p *portable) search() (alive int) {
	// The members first: those that end in between are not in the table.
	members := map[int]bool{}
	for _, pid := range p.group.processes() {
		members[pid] = true
	}
	table := processTable()
	for _, f := range p.found {
		f.alive = false
	}
	for more := true; more; {
		more = false
		for _, e := range table {
			f, known := p.found[e.pid]
			if known && f.start != e.start {
				known = false
			}
			switch {
			case known && !f.alive:
				f.alive = true
				more = true
			case !known && (members[e.pid] || p.related(e)):
				p.found[e.pid] = &foundProcess{start: e.start, alive: true}
				more = true
			}
		}
	}
	for _, f := range p.found {
		if f.alive {
			alive++
		}
	}
	return alive
}

// related reports whether e belongs to the tree.
func (p *portable) related(e tableEntry) bool {
	if e.group == p.root || e.session == p.root {
		return true
	}
	if f, ok := p.found[e.parent]; ok && f.alive {
		return true
	}
	return marked(e.pid, p.job.scratch)
}

// measure reads the memory and CPU time of the processes that are alive.
func (p *portable) measure() {
	var tree int64
	for pid, f := range p.found {
		if !f.alive {
			continue
		}
		peak, now, cpu := usageOf(pid)
		f.peak, f.cpu = max(f.peak, peak), max(f.cpu, cpu)
		tree += now
	}
	p.treePeak = max(p.treePeak, tree)
}

// enforce compares what was measured with the limits.
func (p *portable) enforce() {
	var cpu time.Duration
	alive := 0
	for _, f := range p.found {
		cpu += f.cpu
		if f.alive {
			alive++
		}
	}
	if u := p.group.usage(); u.cpuMethod != "" {
		cpu = max(cpu, time.Duration(u.user+u.system))
	}
	l, over := p.job.limits, p.group.exceeded()
	p.seen.peak = max(p.seen.peak, alive)
	over.cpu = cpu > l.CPU
	over.memory = over.memory || p.treePeak > l.Memory
	over.processes = over.processes || alive > l.Processes
	p.job.stop.stop(over)
}

// end kills what is left of the tree, reaps the program and returns what was
// seen. The program is reaped last: until then its number is that of its group
// and session, and a signal to them cannot reach anybody else's.
func (p *portable) end() (*observed, error) {
	p.search()
	p.seen.peak = max(p.seen.peak, 1)
	stopped := p.job.stop.requested()
	for pid, f := range p.found {
		if f.alive && pid != p.root && !stopped {
			p.seen.leftover = append(p.seen.leftover, Leftover{PID: pid, Name: processName(pid)})
		}
	}
	if err := p.sweep(); err != nil {
		return nil, err
	}
	p.reap()
	var ws syscall.WaitStatus
	var usage syscall.Rusage
	for {
		_, err := syscall.Wait4(p.root, &ws, 0, &usage)
		if err == nil {
			break
		}
		if !errors.Is(err, syscall.EINTR) {
			return nil, &Error{Code: CodeObserve, Op: "wait for", Path: p.job.path, Err: err}
		}
	}
	if ws.Signaled() {
		p.seen.signal = int(ws.Signal())
	} else {
		p.seen.exitCode = ws.ExitStatus()
	}
	p.figures(&usage)
	return &p.seen, nil
}

// sweep kills until a search finds nobody alive but the program, whose end is
// known. Processes are stopped first, so that none forks while others are
// killed.
func (p *portable) sweep() error {
	deadline := time.Now().Add(sweepMost)
	// A process in the middle of an exec shows no environment, so that one search
	// without a find is not enough.
	for empty := 0; empty < sweepEmpty; {
		_ = syscall.Kill(-p.root, syscall.SIGKILL)
		grouped := p.group.kill()
		p.search()
		left := 0
		for _, sig := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGKILL} {
			left = 0
			for pid, f := range p.found {
				if f.alive && pid != p.root && startOf(pid) == f.start {
					_ = syscall.Kill(pid, sig)
					left++
				}
			}
		}
		empty++
		if left > 0 || grouped {
			empty = 0
		}
		if time.Now().After(deadline) {
			return &Error{Code: CodeObserve, Op: "end the descendants of", Path: p.job.path, Err: errSweep}
		}
		time.Sleep(sweepPause)
	}
	return nil
}

// reap reaps descendants that have become children of the host.
func (p *portable) reap() {
	started := make(map[int]int64, len(p.found))
	for pid, f := range p.found {
		if pid != p.root {
			started[pid] = f.start
		}
	}
	reapOrphans(started)
	reapSession(p.root)
}

// figures fills in the times and sizes. usage is the program's own and that of
// the children it waited for.
func (p *portable) figures(usage *syscall.Rusage) {
	s := &p.seen
	s.processes = len(p.found)
	s.user, s.sys = time.Duration(usage.Utime.Nano()), time.Duration(usage.Stime.Nano())
	s.cpu = CPUFigure{Method: "rusage", Scope: "the program and the children it waited for"}
	u := p.group.usage()
	if u.cpuMethod != "" {
		s.user, s.sys = time.Duration(u.user), time.Duration(u.system)
		s.cpu = CPUFigure{Method: u.cpuMethod, Scope: scopeTree}
	}
	s.cpuOver = s.user+s.sys > p.job.limits.CPU
	var sampled int64
	for _, f := range p.found {
		sampled = max(sampled, f.peak)
	}
	s.memory = portableMemory(usage, sampled, p.treePeak)
	if b := s.memory.Process.Bytes; b != nil {
		s.memoryOver = *b > p.job.limits.Memory
	}
	if u.memoryMethod != "" {
		// Pages that others use too may be in another group's account.
		most := u.memory
		if b := s.memory.Process.Bytes; b != nil {
			most = max(most, *b)
		}
		s.memory.Tree = Figure{Bytes: &most, Scope: scopeTree, Method: u.memoryMethod + "; not below the largest process"}
	}
}

// compare compares the file at path with what is expected.
func (p *portable) compare(path, method string) {
	want := p.job.expect
	if want == nil {
		return
	}
	status := &ExpectationStatus{Method: method, Difference: differs(path, want)}
	status.Matched = status.Difference == ""
	p.seen.expected, p.seen.notMatched = status, !status.Matched
}

// compareImage compares again after the start: the running image where the host
// shows it, and the path.
func (p *portable) compareImage() {
	if p.compare(p.job.path, "the path, before and after the start"); p.seen.notMatched || p.seen.expected == nil {
		return
	}
	if image := imageOf(p.root); image != "" && !isScript(p.job.path) {
		// A program that has ended already has no image to look at.
		if was := *p.seen.expected; !p.compareFile(image) {
			p.seen.expected = &was
		}
	}
}

// compareFile compares a running image, and is false when it is gone.
func (p *portable) compareFile(image string) bool {
	if !exists(image) {
		return false
	}
	p.compare(image, "the path before the start, and the running image after it")
	return true
}
