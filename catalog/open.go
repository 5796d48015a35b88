package catalog

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/provider-measure/provider-measure/provider"
)

// maxWorkers bounds Options.Workers: each identification holds descriptors and
// perhaps a child process.
const maxWorkers = 256

// Options are what [Open] may be told. The zero value is the default policy, as
// many identifications at once as Go uses processors, and no tolerance for an
// operator's provider that can't be had.
type Options struct {
	Policy Policy // zero: NewPolicy(ProfileDefault, Rules{})
	// Workers is how many providers are identified at once, at most 256; 0 is
	// GOMAXPROCS. More than the processors makes it slower.
	Workers int
	// ReportOnly leaves out what is broken, an operator's provider too, and says
	// so in the Report only: for a caller that looks and does not serve.
	ReportOnly bool
}

// Open identifies every provider that host knows, each once, and makes the
// catalog of the capabilities of those that are AVAILABLE. What comes out does
// not depend on the order in which providers answer.
//
// A built-in provider that can't be had is absent and reported. An operator's is
// [CodeProviderUnavailable], which names all such and wraps their
// [*provider.Error]s; a capability of an AVAILABLE provider that the registry
// refuses is that refusal. Neither stops Open with Options.ReportOnly. The
// Report is there beside these errors, the Catalog is not; both are nil with
// [CodeOptionInvalid] and when ctx ends, which is answered with its error once
// the children are gone.
func Open(ctx context.Context, host *provider.Host, opts Options) (*Catalog, *Report, error) {
	return open(ctx, host.Set().Manifests(), host.IdentifyWith, opts)
}

func open(ctx context.Context, manifests []*provider.Manifest, identify identifyFunc, opts Options) (*Catalog, *Report, error) {
	const op = "open catalog"
	if opts.Workers < 0 || opts.Workers > maxWorkers {
		return nil, nil, &Error{Code: CodeOptionInvalid, Op: op, Message: fmt.Sprintf("%d workers, allowed are 0 to %d", opts.Workers, maxWorkers)}
	}
	if opts.Workers == 0 {
		opts.Workers = min(runtime.GOMAXPROCS(0), maxWorkers)
	}
	if opts.Policy.IsZero() {
		policy, err := NewPolicy(ProfileDefault, Rules{})
		if err != nil {
			return nil, nil, err
		}
		opts.Policy = policy
	}
	report := &Report{
		PolicyProfile: opts.Policy.Profile(), PolicyDigest: opts.Policy.Digest(),
		Providers: []ProviderReport{}, Denied: []Denial{}, Refused: []Refusal{},
	}
	outcomes := identifyAll(ctx, manifests, identify, opts.Workers)
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	var registry Registry
	for i, m := range manifests {
		r := reportOf(m, outcomes[i].id, outcomes[i].err)
		if r.Failure == nil {
			report.Refused = append(report.Refused, registerAll(&registry, m, r.Identification.Runtime)...)
		}
		report.Providers = append(report.Providers, r)
	}
	slices.SortFunc(report.Refused, func(a, b Refusal) int { return strings.Compare(a.CapabilityID, b.CapabilityID) })
	if !opts.ReportOnly {
		if err := broken(op, manifests, report); err != nil {
			return nil, report, err
		}
	}
	c, denied, err := registry.Catalog(opts.Policy)
	if err != nil {
		return nil, report, err
	}
	report.Denied = append(report.Denied, denied...)
	for i := range report.Providers {
		for _, id := range report.Providers[i].Capabilities {
			if _, ok := c.Lookup(id); ok {
				report.Providers[i].Offered = append(report.Providers[i].Offered, id)
			}
		}
	}
	return c, report, nil
}

// registerAll registers the capabilities of m and returns what is refused.
func registerAll(registry *Registry, m *provider.Manifest, rt provider.Runtime) []Refusal {
	var refused []Refusal
	for _, c := range m.Capabilities {
		d, err := NewDescriptor(m, c, rt)
		if err == nil {
			err = registry.Register(d)
		}
		if err == nil {
			continue
		}
		var e *Error
		if !errors.As(err, &e) {
			e = &Error{Code: CodeDescriptorInvalid, Op: "register", ID: c.ID, Provider: m.ID, Err: err}
		}
		refusal := Refusal{CapabilityID: c.ID, Provider: m.ID, Code: e.Code, Hint: e.Hint, Path: e.Path, Message: e.Message, Err: e}
		if refusal.Message == "" && e.Err != nil {
			refusal.Message = e.Err.Error()
		}
		refused = append(refused, refusal)
	}
	return refused
}

// broken is what makes a start fail: first the promises of operators that can't
// be kept, all of them, then what the registry refused.
func broken(op string, manifests []*provider.Manifest, report *Report) error {
	var failures []error
	var names, texts []string
	var first ProviderReport
	for i, r := range report.Providers {
		if r.Failure == nil || manifests[i].Origin == provider.BuiltIn {
			continue
		}
		if len(failures) == 0 {
			first = r
		}
		failures, names = append(failures, r.Failure), append(names, r.Provider)
		texts = append(texts, fmt.Sprintf("%s (%s): %s", r.Provider, r.Manifest, r.Message))
	}
	if len(failures) > 0 {
		return &Error{
			Code: CodeProviderUnavailable, Op: op, Provider: strings.Join(names, ", "), Path: first.Path, Hint: first.Hint,
			Message: "providers that an operator declared can't be had: " + strings.Join(texts, "; "), Err: errors.Join(failures...),
		}
	}
	for _, r := range report.Refused {
		failures = append(failures, r.Err)
	}
	if len(failures) == 0 {
		return nil
	}
	refused := *report.Refused[0].Err
	if len(failures) > 1 {
		refused.Message = errors.Join(failures...).Error()
		refused.Err = errors.Join(append([]error{refused.Err}, failures[1:]...)...)
	}
	return &refused
}
