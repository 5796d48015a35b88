package catalog

import (
	"slices"

	godigest "github.com/opencontainers/go-digest"

	"github.com/provider-measure/provider-measure/provider"
)

// Report says of every provider and capability that [Open] looked at whether it
// is offered, and if not, why. Its lists are in byte order and never nil.
type Report struct {
	PolicyProfile Profile          `json:"policy_profile"`
	PolicyDigest  godigest.Digest  `json:"policy_digest"`
	Providers     []ProviderReport `json:"providers"`
	Denied        []Denial         `json:"denied"`  // registered, and kept out by the policy
	Refused       []Refusal        `json:"refused"` // of an AVAILABLE provider, and not registered
}

// ProviderReport is the outcome of identifying one provider.
type ProviderReport struct {
	Provider     string                `json:"provider"`
	Title        string                `json:"title"`
	Origin       string                `json:"origin"`   // built-in or operator
	Manifest     string                `json:"manifest"` // what to call the manifest's file
	Capabilities []string              `json:"capabilities"`
	Offered      []string              `json:"offered"` // those of them that are in the catalog
	Availability provider.Availability `json:"availability"`
	Code         provider.Code         `json:"code,omitempty"`   // why it is UNAVAILABLE, as are the next four
	Reason       string                `json:"reason,omitempty"` // the finer code
	Message      string                `json:"message,omitempty"`
	Hint         string                `json:"hint,omitempty"` // what would mend it
	Path         string                `json:"path,omitempty"`
	Warnings     []string              `json:"warnings"`
	// Runtime is the record of the provider; nil when none could be made.
	Runtime *provider.Runtime `json:"provider_runtime"`
	// Failure is the error that Code, Reason, Message, Hint and Path are taken
	// from; nil when the provider is AVAILABLE.
	Failure *provider.Error `json:"-"`
	// Identification is all that was found, for callers that go on to measure.
	Identification provider.Identification `json:"-"`
}

// Refusal is a capability that the registry refused.
type Refusal struct {
	CapabilityID string `json:"capability_id"`
	Provider     string `json:"provider"`
	Code         Code   `json:"code"`
	Message      string `json:"message"`
	Hint         string `json:"hint,omitempty"`
	Path         string `json:"path,omitempty"`
	Err          *Error `json:"-"`
}

// Provider finds a provider's report.
func (r *Report) Provider(id string) (*ProviderReport, bool) {
	for i := range r.Providers {
		if r.Providers[i].Provider == id {
			return &r.Providers[i], true
		}
	}
	return nil, false
}

// reportOf joins what identifying m gave. What is not AVAILABLE in so many words
// is reported as UNAVAILABLE, with a failure.
func reportOf(m *provider.Manifest, id provider.Identification, err error) ProviderReport {
	r := ProviderReport{
		Provider: m.ID, Title: m.Title, Origin: m.Origin.String(), Manifest: m.Source,
		Capabilities: capabilitiesOf(m), Offered: []string{}, Availability: provider.Unavailable,
		Warnings: append([]string{}, id.Warnings...), Failure: id.Failure, Identification: id,
	}
	if !id.Runtime.IsZero() {
		runtime := id.Runtime
		r.Runtime = &runtime
	}
	switch {
	case err != nil:
		r.Failure = provider.AsError(err, provider.CodeMalformedRuntime)
	case r.Failure == nil && id.Runtime.Available():
		r.Availability = provider.Available
		return r
	case r.Failure == nil:
		r.Failure = &provider.Error{Code: provider.CodeUnavailable, Provider: m.ID, Message: "it is not AVAILABLE, and no reason was given"}
	}
	r.Code, r.Reason, r.Hint, r.Path = r.Failure.Code, r.Failure.ReasonText(), r.Failure.Hint, r.Failure.Path
	if r.Message = r.Failure.Message; r.Message == "" {
		r.Message = r.Failure.Error()
	}
	return r
}

// capabilitiesOf are the IDs that m declares, in byte order.
func capabilitiesOf(m *provider.Manifest) []string {
	ids := make([]string, 0, len(m.Capabilities))
	for _, c := range m.Capabilities {
		ids = append(ids, c.ID)
	}
	slices.Sort(ids)
	return ids
}
