package provider

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	godigest "github.com/opencontainers/go-digest"

	"github.com/provider-measure/provider-measure/digest"
)

// CompositeVersion is the version of every COMPOSITE runtime.
const CompositeVersion = "composite-1"

// compositeTierAndLicense are the highest tier and the sorted unique licences
// joined with AND.
func compositeTierAndLicense(components []Identification) (Tier, string) {
	tier := T0
	var licences []string
	for _, c := range components {
		tier = max(tier, c.Runtime.Tier())
		licences = append(licences, c.Runtime.LicenseID())
	}
	slices.Sort(licences)
	return tier, strings.Join(slices.Compact(licences), " AND ")
}

// compositeWarnings says where a composite's manifest declares something else
// than what its components come to. The computed values are the ones recorded:
// they follow from what was measured.
func compositeWarnings(m *Manifest, r *Record) []string {
	var out []string
	if m.InstallTier != r.InstallTier {
		out = append(out, fmt.Sprintf("the manifest declares install_tier %s, the components come to %s, which is recorded", m.InstallTier, r.InstallTier))
	}
	if m.LicenseID != r.LicenseID {
		out = append(out, fmt.Sprintf("the manifest declares license_id %q, the components come to %q, which is recorded", m.LicenseID, r.LicenseID))
	}
	if strings.Contains(r.LicenseID, " OR ") && strings.Contains(r.LicenseID, " AND ") {
		out = append(out, fmt.Sprintf("license_id %q joins a choice with AND, which binds closer than OR: read the components' own", r.LicenseID))
	}
	return out
}

func (h *Host) measureComposite(ctx context.Context, m *Manifest, id *Identification, identify ComponentFunc) (string, godigest.Digest, map[string]any, *Error) {
	var records [][]byte
	var raw []jsontext.Value
	var broken []error
	for _, name := range m.Identity.Components {
		component, ok := h.set.Provider(name)
		if !ok {
			return "", "", nil, &Error{Code: CodeUnavailable, Reason: ReasonComponentUnknown, Message: fmt.Sprintf("component %q is not a known provider", name)}
		}
		identified, err := identify(ctx, component)
		if err != nil {
			return "", "", nil, AsError(err, CodeUnavailable)
		}
		id.Measured.Components = append(id.Measured.Components, identified)
		for _, w := range identified.Warnings {
			id.Warnings = append(id.Warnings, name+": "+w)
		}
		if identified.Failure != nil {
			broken = append(broken, identified.Failure)
			continue
		}
		data, err := json.Marshal(identified.Runtime)
		if err != nil {
			return "", "", nil, AsError(err, CodeMalformedRuntime)
		}
		records, raw = append(records, data), append(raw, data)
	}
	if len(broken) > 0 {
		return "", "", nil, componentFailure(broken)
	}
	d, err := digest.Composite(records)
	if err != nil {
		return "", "", nil, digestError(err, CodeMalformedRuntime, "")
	}
	return CompositeVersion, d, map[string]any{"components": raw}, nil
}

// componentFailure names every broken component; its hint and path are the
// first one's.
func componentFailure(broken []error) *Error {
	texts := make([]string, len(broken))
	for i, err := range broken {
		texts[i] = err.Error()
	}
	e := &Error{
		Code: CodeUnavailable, Reason: ReasonComponent,
		Message: "unavailable components: " + strings.Join(texts, "; "), Err: errors.Join(broken...),
	}
	var first *Error
	if errors.As(broken[0], &first) {
		e.Hint, e.Path = first.Hint, first.Path
	}
	return e
}
