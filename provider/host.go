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

	pythonOnce sync.Once
	python     *Python
	pythonErr  error
}

// NewHost returns a Host that knows the manifests of set, which composites need.
func NewHost(set *Set, options HostOptions) *Host {
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

// Platform is the host's platform.
func (h *Host) Platform() string { return h.platform }

// Python returns the interpreter that ${python} stands for. The error is
// [CodeUnavailable] with [ReasonPythonMissing] or [ReasonPythonLayout]. A
// cancelled search is not kept.
func (h *Host) Python(ctx context.Context) (*Python, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	h.pythonOnce.Do(func() {
		// The answer outlives this caller, so its cancellation must not become
		// everybody's; the search bounds itself.
		h.python, h.pythonErr = pythonFinder{lookup: h.options.Lookup, flag: h.options.Python, run: h.options.Run}.find(context.WithoutCancel(ctx))
	})
	return h.python, h.pythonErr
}
