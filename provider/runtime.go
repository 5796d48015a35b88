package provider

import (
	"github.com/go-json-experiment/json"
	godigest "github.com/opencontainers/go-digest"

	"github.com/provider-measure/provider-measure/digest"
	"github.com/provider-measure/provider-measure/internal/canonjson"
)

// Record returns a copy of the record.
func (rt Runtime) Record() Record { return rt.r.clone() }

// IsZero reports whether rt is no record at all.
func (rt Runtime) IsZero() bool { return rt.r.RuntimeVersion == "" }

// Provider is the provider's ID.
func (rt Runtime) Provider() string { return rt.r.Provider }

// Available reports whether the record says AVAILABLE in so many words.
func (rt Runtime) Available() bool { return rt.r.Availability == Available }

// Version is the measured version, "" when unavailable.
func (rt Runtime) Version() string { return deref(rt.r.Version) }

// Digest is the measured identity, "" when unavailable.
func (rt Runtime) Digest() godigest.Digest { return deref(rt.r.Digest) }

// Kind is the kind of identity, "" when unavailable.
func (rt Runtime) Kind() digest.Kind { return deref(rt.r.DigestKind) }

// Diagnostic says why the provider is unavailable, "" when it is available.
func (rt Runtime) Diagnostic() string { return deref(rt.r.Diagnostic) }

// LicenseID is the provider's SPDX licence expression.
func (rt Runtime) LicenseID() string { return rt.r.LicenseID }

// Tier is the provider's install tier.
func (rt Runtime) Tier() Tier { return rt.r.InstallTier }

// MarshalJSON prints all 16 keys in canonical form. The zero Runtime is no
// record and fails with [CodeIdentityIncomplete].
func (rt Runtime) MarshalJSON() ([]byte, error) {
	if rt.IsZero() {
		return nil, &Error{Code: CodeIdentityIncomplete, Reason: ReasonRecordIncomplete, Message: "there is no runtime record to print"}
	}
	return canonjson.Marshal(rt.r)
}

// UnmarshalJSON reads what [ParseRuntime] accepts.
func (rt *Runtime) UnmarshalJSON(data []byte) error {
	parsed, err := ParseRuntime(data)
	if err != nil {
		return err
	}
	*rt = parsed
	return nil
}

func (rt Runtime) configuration() (configuration, error) {
	var c configuration
	if err := json.Unmarshal(rt.r.Configuration, &c); err != nil {
		return c, malformed(rt.r.Provider, err)
	}
	return c, nil
}

// components are the parsed component records of a COMPOSITE.
func (rt Runtime) components() ([]Runtime, error) {
	c, err := rt.configuration()
	if err != nil {
		return nil, err
	}
	out := make([]Runtime, 0, len(c.Components))
	for _, raw := range c.Components {
		component, err := ParseRuntime(raw)
		if err != nil {
			return nil, err
		}
		out = append(out, component)
	}
	return out, nil
}

func deref[T any](p *T) T {
	if p == nil {
		return *new(T)
	}
	return *p
}
