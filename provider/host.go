package provider

import (
	"context"
	"sync"

	"github.com/provider-measure/provider-measure/probe"
)

// HostOptions is what the outside of the process looks like. The zero value has
// no environment, so nothing is found on PATH and nothing is admitted.
type HostOptions struct {
	// Lookup reads the host's environment; os.LookupEnv in a command.
	Lookup func(name string) (string, bool)
	// Python chooses the interpreter before the environment does: a path to one,
	// or to an environment's folder.
	Python string
	// TempDir is where scratch directories are made; "" is the system's.
	TempDir string
	// PackageDatabase is where dpkg keeps its lists; "" is /var/lib/dpkg.
	PackageDatabase string
	// Run starts processes; nil is [probe.Run].
	Run func(context.Context, probe.Spec) (*probe.Result, error)
}

// Host identifies providers on this machine. Its interpreter is found once and
// kept, so that all answers of one Host speak of one environment. It is safe for
// concurrent use.
type Host struct {
	options   HostOptions
	set       *Set
	workerDir string // folder that holds the built-in worker package, "" when not laid out
	platform  string

	mu     sync.Mutex
	search *pythonSearch // the one search for the interpreter, nil before it
}

// NewHost returns a Host that knows the manifests of set, which composites need;
// nil is none.
func NewHost(set *Set, options HostOptions) *Host {
	if set == nil {
		set = &Set{}
	}
	if options.Lookup == nil {
		options.Lookup = func(string) (string, bool) { return "", false }
	}
	if options.Run == nil {
		options.Run = probe.Run
	}
	h := &Host{options: options, set: set, platform: HostPlatform()}
	for _, m := range set.manifests {
		if m.Origin == BuiltIn && m.Dir != "" {
			h.workerDir = m.Dir
			break
		}
	}
	return h
}

// Set is the manifests that the host knows.
func (h *Host) Set() *Set { return h.set }

// Lookup reads the host's environment as [HostOptions] gave it.
func (h *Host) Lookup(name string) (string, bool) { return h.options.Lookup(name) }

// Platform is the host's platform.
func (h *Host) Platform() string { return h.platform }

// Python returns the interpreter that ${python} stands for. The error is
// [CodeUnavailable] with [ReasonPythonMissing] or [ReasonPythonLayout], and kept
// like an answer; or it is that of ctx, and then the search goes on for as long
// as another caller waits for it.
func (h *Host) Python(ctx context.Context) (*Python, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := h.joinSearch(ctx)
	select {
	case <-s.done:
		if s.err != nil {
			return nil, AsError(s.err, CodeUnavailable)
		}
		return s.python.clone(), nil
	case <-ctx.Done():
		h.leaveSearch(s)
		return nil, ctx.Err()
	}
}

// pythonSearch is one search, shared by those who wait for it.
type pythonSearch struct {
	done    chan struct{}
	cancel  context.CancelFunc
	waiting int // guarded by Host.mu
	python  *Python
	err     error
}

func (h *Host) joinSearch(ctx context.Context) *pythonSearch {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.search == nil {
		// The answer outlives this caller, so its cancellation must not become
		// everybody's.
		ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
		s := &pythonSearch{done: make(chan struct{}), cancel: cancel}
		f := pythonFinder{lookup: h.options.Lookup, flag: h.options.Python, run: h.options.Run, scratch: h.options.TempDir}
		go func() {
			defer close(s.done)
			s.python, s.err = f.find(ctx)
		}()
		h.search = s
	}
	h.search.waiting++
	return h.search
}

// leaveSearch stops a search that nobody waits for, and forgets it.
func (h *Host) leaveSearch(s *pythonSearch) {
	h.mu.Lock()
	s.waiting--
	last := s.waiting == 0
	select {
	case <-s.done:
		last = false
	default:
	}
	if last {
		h.search = nil
	}
	h.mu.Unlock()
	if last {
		s.cancel()
		<-s.done
	}
}
