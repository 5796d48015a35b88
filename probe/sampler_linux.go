package probe

import (
	"sync"
	"time"
)

const (
	// samplePeriod is how often the tree's memory and CPU time are read. It
	// bounds how far a limit can be overrun: 10 ms on two cores are 20 ms of CPU.
	samplePeriod = 10 * time.Millisecond
	// pssShare bounds what reading proportional sizes may take: after a reading
	// of t, the next is at least pssShare times t later.
	pssShare = 20
)

// sampler reads the memory and CPU time of the tree while the tracer waits. It is
// a timer and no goroutine that waits, so that a run that ends before the first
// sample costs no switch to another thread.
type sampler struct {
	account *account
	limits  Limits
	stop    *stopper
	guard   *guard
	nextPSS time.Time

	mu     sync.Mutex // held while a sample is taken
	halted bool
	timer  *time.Timer
}

// sample starts a sampler; halt ends it.
func sample(a *account, limits Limits, stop *stopper, g *guard) *sampler {
	s := &sampler{account: a, limits: limits, stop: stop, guard: g}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timer = time.AfterFunc(samplePeriod, s.tick)
	return s
}

// halt returns when no sample is being taken and none will be.
func (s *sampler) halt() {
	s.timer.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.halted = true
}

func (s *sampler) tick() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.halted {
		return
	}
	now := time.Now()
	s.once(now)
	s.timer.Reset(max(samplePeriod-time.Since(now), samplePeriod/10))
}

// once takes one sample and compares it with the limits.
func (s *sampler) once(now time.Time) {
	if s.account.cpu() > s.limits.CPU {
		s.stop.stop(facts{cpu: true})
	}
	if s.guard.wanted() {
		s.stop.stop(facts{identity: true})
	}
	resident, highest := s.resident()
	// Proportional sizes cost much more to read and never sum to more than the
	// resident ones, so they are read only when these are a new peak.
	if resident <= highest || now.Before(s.nextPSS) && resident <= s.limits.Memory {
		return
	}
	start := time.Now()
	proportional, ok := s.proportional()
	s.nextPSS = now.Add(pssShare * time.Since(start))
	if !ok {
		return
	}
	s.account.mu.Lock()
	s.account.treePeak = max(s.account.treePeak, proportional)
	s.account.treeSampled = true
	s.account.mu.Unlock()
	if proportional > s.limits.Memory {
		s.stop.stop(facts{memory: true})
	}
}

// resident returns the sum of the resident sets and the highest proportional
// sum so far.
func (s *sampler) resident() (sum, highest int64) {
	s.account.mu.Lock()
	defer s.account.mu.Unlock()
	for pid, p := range s.account.live {
		if n, ok := residentBytes(pid); ok {
			p.seen = max(p.seen, n)
			sum += n
		}
	}
	return sum, s.account.treePeak
}

// proportional returns the sum of the proportional sets. A process that ended
// since the sum was begun counts for nothing, one whose size the host may not
// read counts with its resident set.
func (s *sampler) proportional() (int64, bool) {
	s.account.mu.Lock()
	pids := make([]int, 0, len(s.account.live))
	for pid := range s.account.live {
		pids = append(pids, pid)
	}
	s.account.mu.Unlock()
	var sum int64
	some := false
	for _, pid := range pids {
		n, ok := proportionalBytes(pid)
		if !ok {
			n, ok = residentBytes(pid)
		}
		if ok {
			sum += n
			some = true
		}
	}
	return sum, some
}
