package provider

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	godigest "github.com/opencontainers/go-digest"
	"golang.org/x/text/unicode/norm"

	"github.com/provider-measure/provider-measure/digest"
	"github.com/provider-measure/provider-measure/internal/canonjson"
	"github.com/provider-measure/provider-measure/internal/strictjson"
)

// RuntimeVersion is the only version of the runtime identity record.
const RuntimeVersion = "1"

// Availability says whether a provider's exact runtime is there and healthy.
// Only AVAILABLE ever enters a catalog; the zero value is neither.
type Availability string

// The two availabilities.
const (
	Available   Availability = "AVAILABLE"
	Unavailable Availability = "UNAVAILABLE"
)

// Tier is how much an operator must do to have a provider: T0 nothing beyond
// the locked base; T1 packaged wheels; T2 a pinned external executable,
// operator-enabled; T3 a separately managed ecosystem, container or remote.
type Tier string

// The four tiers, in ascending order.
const (
	T0 Tier = "T0"
	T1 Tier = "T1"
	T2 Tier = "T2"
	T3 Tier = "T3"
)

func (t Tier) valid() bool { return t == T0 || t == T1 || t == T2 || t == T3 }

// maxDiagnostic is the longest diagnostic, in characters.
const maxDiagnostic = 512

// Record is the runtime identity record of the provider-runtime contract: 16
// keys, all always present in JSON. It is plain data; a [Runtime] is one that
// was checked.
type Record struct {
	RuntimeVersion  string           `json:"runtime_version"`
	Provider        string           `json:"provider"`
	Availability    Availability     `json:"availability"`
	Version         *string          `json:"version"`
	Digest          *godigest.Digest `json:"digest"`
	DigestKind      *digest.Kind     `json:"digest_kind"`
	Platform        string           `json:"platform"`
	InstallTier     Tier             `json:"install_tier"`
	LicenseID       string           `json:"license_id"`
	LicenseFiles    []string         `json:"license_files"`
	Features        []string         `json:"features"`
	CheckerIDs      []string         `json:"checker_ids"`
	Configuration   jsontext.Value   `json:"configuration"`
	ImportName      *string          `json:"distribution_import_name"`
	RequiredAttribs []string         `json:"distribution_required_attributes"`
	Diagnostic      *string          `json:"diagnostic"`
}

// clone copies everything that a caller could otherwise write through.
func (r Record) clone() Record {
	r.Version, r.ImportName, r.Diagnostic = copyOf(r.Version), copyOf(r.ImportName), copyOf(r.Diagnostic)
	r.Digest, r.DigestKind = copyOf(r.Digest), copyOf(r.DigestKind)
	r.LicenseFiles, r.Features = list(r.LicenseFiles), list(r.Features)
	r.CheckerIDs, r.RequiredAttribs = list(r.CheckerIDs), list(r.RequiredAttribs)
	r.Configuration = r.Configuration.Clone()
	return r
}

func copyOf[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}

// list copies a list and makes it non-null.
func list(in []string) []string { return append([]string{}, in...) }

// Runtime is an immutable, valid runtime identity record. The zero value is no
// record: it is not available and has an empty provider.
type Runtime struct{ r Record }

// NewRuntime checks record against the contract and returns it as a Runtime.
// Strings are stored in Unicode NFC, as they are printed. A configuration is stored in canonical form; nil lists become empty and a
// nil configuration becomes {}. An over-long diagnostic is cut at 512
// characters.
//
// Every failure is [CodeMalformedRuntime], but a configuration that lacks the
// key that its kind needs is [CodeIdentityIncomplete].
func NewRuntime(record Record) (Runtime, error) {
	r := record.clone()
	r.normalise()
	if r.Diagnostic != nil {
		cut := cutDiagnostic(*r.Diagnostic)
		r.Diagnostic = &cut
	}
	if len(r.Configuration) == 0 {
		r.Configuration = jsontext.Value("{}")
	}
	canonical, err := canonjson.Canonicalize(r.Configuration)
	if err != nil {
		return Runtime{}, malformed(r.Provider, fmt.Errorf("configuration: %w", err))
	}
	r.Configuration = canonical
	if err := r.check(); err != nil {
		return Runtime{}, malformed(r.Provider, err)
	}
	if err := r.checkConfiguration(); err != nil {
		return Runtime{}, err
	}
	// What can't be printed must not exist: a configuration may be too deep or
	// too large only inside its record.
	if _, err := canonjson.Marshal(r); err != nil {
		return Runtime{}, malformed(r.Provider, err)
	}
	return Runtime{r}, nil
}

// normalise turns every string into the form that the record is printed in, so
// that lengths and repetitions are those of the printed record.
func (r *Record) normalise() {
	for _, p := range []*string{r.Version, r.ImportName, r.Diagnostic, &r.Provider, &r.Platform, &r.LicenseID} {
		if p != nil {
			*p = norm.NFC.String(*p)
		}
	}
	for _, list := range [][]string{r.LicenseFiles, r.Features, r.CheckerIDs, r.RequiredAttribs} {
		for i := range list {
			list[i] = norm.NFC.String(list[i])
		}
	}
}

func malformed(provider string, err error) *Error {
	return &Error{Code: CodeMalformedRuntime, Reason: ReasonRecordInvalid, Provider: provider, Message: err.Error(), Err: err}
}

// cutDiagnostic keeps at most 512 characters and never half of one.
func cutDiagnostic(s string) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	if utf8.RuneCountInString(s) <= maxDiagnostic {
		return s
	}
	return string([]rune(s)[:maxDiagnostic-1]) + "…"
}

// ParseRuntime reads one record as JSON. All 16 keys must be present, and
// nothing else. The failure is [CodeMalformedRuntime] or, from a configuration
// without its kind's key, [CodeIdentityIncomplete].
func ParseRuntime(data []byte) (Runtime, error) {
	var record Record
	if err := strictjson.Decode(data, &record); err != nil {
		return Runtime{}, malformed("", err)
	}
	var present map[string]jsontext.Value
	if err := json.Unmarshal(data, &present); err != nil {
		return Runtime{}, malformed("", err)
	}
	for _, key := range recordKeys() {
		value, ok := present[key]
		if !ok {
			return Runtime{}, malformed(record.Provider, fmt.Errorf("key %q is missing", key))
		}
		if value.Kind() == 'n' && !nullable(key) {
			return Runtime{}, malformed(record.Provider, fmt.Errorf("key %q is null", key))
		}
	}
	if record.Diagnostic != nil && utf8.RuneCountInString(*record.Diagnostic) > maxDiagnostic {
		return Runtime{}, malformed(record.Provider, fmt.Errorf("diagnostic is longer than %d characters", maxDiagnostic))
	}
	return NewRuntime(record)
}
