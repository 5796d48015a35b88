package provider

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	godigest "github.com/opencontainers/go-digest"

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
// A configuration is stored in canonical form; nil lists become empty and a
// nil configuration becomes {}. An over-long diagnostic is cut at 512
// characters.
//
// Every failure is [CodeMalformedRuntime], but a configuration that lacks the
// key that its kind needs is [CodeIdentityIncomplete].
func NewRuntime(record Record) (Runtime, error) {
	r := record.clone()
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
	return Runtime{r}, nil
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

// recordKeys are the 16 keys of the contract.
func recordKeys() []string {
	return []string{
		"runtime_version", "provider", "availability", "version", "digest", "digest_kind", "platform", "install_tier",
		"license_id", "license_files", "features", "checker_ids", "configuration", "distribution_import_name",
		"distribution_required_attributes", "diagnostic",
	}
}

func nullable(key string) bool {
	switch key {
	case "version", "digest", "digest_kind", "distribution_import_name", "diagnostic":
		return true
	}
	return false
}

// check applies the rules of the contract but for configuration.
func (r *Record) check() error {
	return errors.Join(r.checkScalars(), r.checkLists(), r.checkState())
}

func (r *Record) checkScalars() error {
	if r.RuntimeVersion != RuntimeVersion {
		return fmt.Errorf("runtime_version %q, want %q", r.RuntimeVersion, RuntimeVersion)
	}
	if !ValidProviderID(r.Provider) {
		return fmt.Errorf("provider %q does not match %s with 3 to 128 characters", r.Provider, providerPattern)
	}
	if r.Availability != Available && r.Availability != Unavailable {
		return fmt.Errorf("availability %q", r.Availability)
	}
	if !r.InstallTier.valid() {
		return fmt.Errorf("install_tier %q", r.InstallTier)
	}
	if r.Version != nil {
		if err := checkLength("version", *r.Version, 1, 128); err != nil {
			return err
		}
	}
	if r.Digest != nil && !matches(digestPattern, r.Digest.String()) {
		return fmt.Errorf("digest %q is not sha256: and 64 lower-case hex digits", *r.Digest)
	}
	if r.DigestKind != nil && !validKind(*r.DigestKind) {
		return fmt.Errorf("digest_kind %q", *r.DigestKind)
	}
	if r.ImportName != nil && (!lengthWithin(*r.ImportName, 1, 256) || !matches(dottedPattern, *r.ImportName)) {
		return fmt.Errorf("distribution_import_name %q is not a dotted identifier", *r.ImportName)
	}
	if r.Diagnostic != nil {
		if err := checkLength("diagnostic", *r.Diagnostic, 1, maxDiagnostic); err != nil {
			return err
		}
	}
	return errors.Join(checkLength("platform", r.Platform, 1, 128), checkLicense(r.LicenseID))
}

func validKind(k digest.Kind) bool {
	switch k {
	case digest.SourceTree, digest.PythonRecord, digest.ExecutableKind, digest.CompositeKind:
		return true
	}
	return false
}

func (r *Record) checkLists() error {
	return errors.Join(
		checkUnique("license_files", r.LicenseFiles, 0, checkRelativePath),
		checkUnique("features", r.Features, 0, func(s string) error { return checkLength("feature", s, 1, 128) }),
		checkUnique("checker_ids", r.CheckerIDs, 0, func(s string) error {
			if !matches(checkerPattern, s) {
				return fmt.Errorf("%q is not a checker ID", s)
			}
			return nil
		}),
		checkUnique("distribution_required_attributes", r.RequiredAttribs, 64, func(s string) error {
			if !matches(identifierPattern, s) {
				return fmt.Errorf("%q is not an identifier", s)
			}
			return nil
		}),
	)
}

func (r *Record) checkState() error {
	switch r.Availability {
	case Available:
		if r.Version == nil || r.Digest == nil || r.DigestKind == nil || r.Diagnostic != nil {
			return errors.New("AVAILABLE needs version, digest and digest_kind, and no diagnostic")
		}
	case Unavailable:
		if r.Version != nil || r.Digest != nil || r.DigestKind != nil || r.Diagnostic == nil {
			return errors.New("UNAVAILABLE needs a diagnostic, and no version, digest or digest_kind")
		}
	}
	if (r.ImportName != nil || len(r.RequiredAttribs) > 0) && (r.DigestKind == nil || *r.DigestKind != digest.PythonRecord) {
		return errors.New("the distribution_ fields need digest_kind PYTHON_DISTRIBUTION_RECORD")
	}
	return nil
}

// configuration is what this package reads back from the free-form object.
type configuration struct {
	Executable   string           `json:"executable"`
	Entrypoint   string           `json:"entrypoint"`
	Root         string           `json:"root"`
	TreeFormat   digest.Format    `json:"tree_format"`
	Exclude      []string         `json:"exclude"`
	SearchPath   []string         `json:"search_path"`
	Distribution string           `json:"distribution"`
	Components   []jsontext.Value `json:"components"`
}

// checkConfiguration refuses an AVAILABLE record that could not be measured
// again, here rather than when someone tries.
func (r *Record) checkConfiguration() error {
	if r.Configuration.Kind() != '{' {
		return malformed(r.Provider, errors.New("configuration is not an object"))
	}
	if r.Availability != Available {
		return nil
	}
	var c configuration
	if err := json.Unmarshal(r.Configuration, &c); err != nil {
		return malformed(r.Provider, fmt.Errorf("configuration: %w", err))
	}
	missing := ""
	switch *r.DigestKind {
	case digest.ExecutableKind:
		if !filepath.IsAbs(c.Executable) || path.Clean(c.Executable) != c.Executable {
			missing = "executable (an absolute, resolved path)"
		}
	case digest.SourceTree:
		if c.Entrypoint == "" && !filepath.IsAbs(c.Root) {
			missing = "entrypoint, or root (an absolute path)"
		}
	case digest.PythonRecord:
		if c.Distribution == "" {
			missing = "distribution"
		}
	case digest.CompositeKind:
		if len(c.Components) == 0 {
			missing = "components (at least one)"
		}
	}
	if missing != "" {
		return &Error{
			Code: CodeIdentityIncomplete, Reason: ReasonRecordIncomplete, Provider: r.Provider,
			Message: fmt.Sprintf("configuration of a %s runtime lacks %s", *r.DigestKind, missing),
		}
	}
	return nil
}
