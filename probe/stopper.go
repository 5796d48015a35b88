package probe

import "sync"

// stopper collects the reasons for which a run must end early, from timers, the
// context, the readers and the engine, and wakes the engine when the first one
// comes. After close, only the reason "output" is taken, because the end of a
// stream may be read after the end of the program.
type stopper struct {
	mu      sync.Mutex
	facts   facts
	stopped bool
	closed  bool
	wake    func()
}

// stop records the reasons that hold in f and wakes the engine. It does nothing
// when none holds.
func (s *stopper) stop(f facts) {
	s.mu.Lock()
	defer s.mu.Unlock()
	have := &s.facts
	have.output = have.output || f.output
	if s.closed || f == (facts{}) {
		return
	}
	have.cancelled = have.cancelled || f.cancelled
	have.timedOut = have.timedOut || f.timedOut
	have.cpu = have.cpu || f.cpu
	have.memory = have.memory || f.memory
	have.processes = have.processes || f.processes
	have.identity = have.identity || f.identity
	if !s.stopped {
		s.stopped = true
		if s.wake != nil {
			s.wake()
		}
	}
}

// onStop sets how the engine is woken, and wakes it at once when a reason was
// there before.
func (s *stopper) onStop(wake func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wake = wake
	if s.stopped && !s.closed {
		wake()
	}
}

// close ends the time in which reasons count: the program has ended.
func (s *stopper) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.wake = nil
}

// requested reports whether the run must end.
func (s *stopper) requested() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopped
}

// known returns the reasons so far.
func (s *stopper) known() facts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.facts
}
