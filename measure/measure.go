package measure

import (
	"context"
	"errors"
	"fmt"

	"github.com/provider-measure/provider-measure/internal/nearest"
	"github.com/provider-measure/provider-measure/probe"
	"github.com/provider-measure/provider-measure/provider"
)

// DefaultRuns is how often a probe runs when the options do not say, and MaxRuns
// the most that they may.
const (
	DefaultRuns = 3
	MaxRuns     = 1000
)

// Options of one measurement. The zero value is the default.
type Options struct {
	// Runs is how often the cold start and the reproduction case run each; 0 is
	// [DefaultRuns], at most [MaxRuns].
	Runs int
	// ColdInstall asks for an install from an index, the only part that may use
	// the network.
	ColdInstall bool
	// Progress, when not nil, is told of each step. It is called from the
	// goroutine that called Measure, which waits for it.
	Progress func(Event)
	// Run starts the installer; nil is [probe.Run]. The probes are started by the
	// host.
	Run func(context.Context, probe.Spec) (*probe.Result, error)
}

// The stages of a measurement, in order.
const (
	StageIdentify      = "identify"
	StageReady         = "ready"
	StageInstalledSize = "installed_size"
	StageColdStart     = "cold_start"
	StageReproduction  = "reproduction_case"
	StageColdInstall   = "cold_install"
	StageRevalidate    = "revalidate"
)

// Event says how far a measurement is: Done of Total steps of one stage.
type Event struct {
	Stage  string
	Done   int
	Total  int
	Detail string // may be empty
}

// measurement is one call of Measure.
type measurement struct {
	host     *provider.Host
	manifest *provider.Manifest
	id       provider.Identification
	runs     int
	options  Options
}

func (m *measurement) progress(stage string, done, total int, text string) {
	if m.options.Progress != nil {
		m.options.Progress(Event{Stage: stage, Done: done, Total: total, Detail: text})
	}
}

// Measure measures the provider that offers a capability.
//
// A record is returned also when parts of it are ERROR: a wrong answer of the
// reproduction case, a probe that was killed, an install that failed; see
// [Record.Good]. There is no record, and the error is a *provider.Error, when
// the provider is UNAVAILABLE, is not ready, or is no longer the same at the end
// ([provider.CodeIdentityChanged], or [provider.CodeUnavailable] when it is
// gone). An unknown capability is [CodeUnknownCapability] with the nearest known
// one; a cancelled context gives the context's own error, and nothing is left
// behind.
func Measure(ctx context.Context, h *provider.Host, capabilityID string, opts Options) (*Record, error) {
	m := &measurement{host: h, runs: opts.Runs, options: opts}
	if m.runs == 0 {
		m.runs = DefaultRuns
	}
	if m.runs < 1 || m.runs > MaxRuns {
		return nil, &Error{Code: CodeBadOptions, Op: "check option", Path: "Runs", Err: fmt.Errorf("%d is outside 1 to %d", opts.Runs, MaxRuns)}
	}
	if m.options.Run == nil {
		m.options.Run = probe.Run
	}
	manifest, _, ok := h.Set().Capability(capabilityID)
	if !ok {
		return nil, unknownCapability(h, capabilityID)
	}
	m.manifest = manifest
	if err := m.begin(ctx); err != nil {
		return nil, err
	}
	r, err := m.measure(ctx)
	if err != nil {
		return nil, err
	}
	if err := m.unchanged(ctx); err != nil {
		return nil, err
	}
	if err := r.Validate(); err != nil {
		return nil, err
	}
	return r, nil
}

func unknownCapability(h *provider.Host, id string) *Error {
	known := h.Set().CapabilityIDs()
	e := &Error{
		Code: CodeUnknownCapability, Op: "measure", Path: id, Err: errors.New("no provider offers it"),
		Nearest: nearest.Of(id, known), Hint: "see `provider-measure catalog` for what is offered, `provider-measure doctor` for what is declared",
	}
	return e
}

// begin makes sure of what is about to be measured.
func (m *measurement) begin(ctx context.Context) error {
	m.progress(StageIdentify, 0, 1, m.manifest.ID)
	id, err := m.host.Identify(ctx, m.manifest)
	if err != nil {
		return err
	}
	if id.Failure != nil {
		return id.Failure
	}
	m.id = id
	if err := m.host.Revalidate(ctx, id.Runtime); err != nil {
		return err
	}
	m.progress(StageIdentify, 1, 1, id.Runtime.Digest().String())
	m.progress(StageReady, 0, 1, "")
	if err := m.host.Ready(ctx, m.manifest, id.Runtime, id.Measured); err != nil {
		return err
	}
	m.progress(StageReady, 1, 1, "")
	return nil
}

// measure makes the record but for the last look at the identity.
func (m *measurement) measure(ctx context.Context) (*Record, error) {
	contract, err := contractDigest(m.manifest)
	if err != nil {
		return nil, &Error{Code: CodeRecordInvalid, Op: "digest the contract of", Path: m.manifest.ID, Err: err}
	}
	r := &Record{MeasurementVersion: Version, ProviderRuntime: m.id.Runtime, ProbeContract: contract}
	r.Environment = hostEnvironment(ctx, m.interpreter)
	m.progress(StageInstalledSize, 0, 1, "")
	r.InstalledSize = installedSize(ctx, m.id)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.progress(StageInstalledSize, 1, 1, "")
	if r.ColdStart, err = m.series(ctx, StageColdStart, m.manifest.Probes.ColdStart); err != nil {
		return nil, err
	}
	if r.ReproductionCase, err = m.series(ctx, StageReproduction, m.manifest.Probes.Reproduction); err != nil {
		return nil, err
	}
	if r.ColdInstall, err = m.coldInstall(ctx); err != nil {
		return nil, err
	}
	r.Requirements = judged(m.manifest.Requirements, r)
	return r, nil
}

// unchanged measures the identity again after the last run.
func (m *measurement) unchanged(ctx context.Context) error {
	m.progress(StageRevalidate, 0, 1, "")
	err := m.host.Revalidate(ctx, m.id.Runtime)
	if err == nil {
		err = sameFiles(ctx, m.id)
	}
	if cause := ctx.Err(); cause != nil {
		return cause
	}
	var pe *provider.Error
	if errors.As(err, &pe) {
		moved := *pe
		moved.Message = "the identity moved during the measurement, so there is no record: " + messageOf(pe)
		return &moved
	}
	if err != nil {
		return err
	}
	m.progress(StageRevalidate, 1, 1, "")
	return nil
}

// interpreter returns the interpreter when the provider is run by one.
func (m *measurement) interpreter(ctx context.Context) (*Interpreter, string) {
	if !usesPython(m.manifest) {
		return nil, "the provider is not run by a Python interpreter"
	}
	return interpreterOf(ctx, m.host)
}
