package provider

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	godigest "github.com/opencontainers/go-digest"
	"golang.org/x/text/unicode/norm"

	"github.com/provider-measure/provider-measure/digest"
	"github.com/provider-measure/provider-measure/probe"
)

// Measured is what identification read, by kind of identity.
type Measured struct {
	Executable   *digest.ExecutableResult // EXECUTABLE
	Tree         *digest.TreeResult       // SOURCE_TREE, with its entries
	Distribution *digest.Distribution     // PYTHON_DISTRIBUTION_RECORD
	Inventory    *digest.Inventory        // the recorded files that are there
	Components   []Identification         // COMPOSITE, in order
}

// executable is what ${executable} stands for: the measured executable, or that
// of a composite's first component that has one.
func (m Measured) executable() *digest.ExecutableResult {
	if m.Executable != nil {
		return m.Executable
	}
	for _, c := range m.Components {
		if exe := c.Measured.executable(); exe != nil {
			return exe
		}
	}
	return nil
}

// Identification is the outcome of identifying one provider on this host.
type Identification struct {
	Manifest *Manifest
	Runtime  Runtime
	Failure  *Error   // why Runtime is UNAVAILABLE; nil when it is AVAILABLE
	Warnings []string // odd, and no reason to refuse
	Measured Measured
	Health   *probe.Result // the health probe's run, when there was one
}

// Identify measures the identity that m declares and runs its health probe. A
// provider that is missing, wrong or unhealthy is not an error: its Runtime is
// UNAVAILABLE and Failure says why. The error is the context's, when it ended,
// or that of a manifest that can't make a record.
//
// Python kinds are identified by reading files; no code of the provider is
// imported or run, save by a health probe that says so.
func (h *Host) Identify(ctx context.Context, m *Manifest) (Identification, error) {
	return h.IdentifyWith(ctx, m, h.Identify)
}

// ComponentFunc identifies one component of a composite.
type ComponentFunc func(context.Context, *Manifest) (Identification, error)

// IdentifyWith is [Host.Identify] for a caller that identifies many providers and
// each once: a composite's components are asked of component.
func (h *Host) IdentifyWith(ctx context.Context, m *Manifest, component ComponentFunc) (Identification, error) {
	id := Identification{Manifest: m}
	version, kindDigest, config, failure := h.measure(ctx, m, &id, component)
	if err := ctx.Err(); err != nil {
		return Identification{}, err
	}
	if _, ok := m.Identity.Pins[h.platform]; !ok && len(m.Identity.Pins) > 0 {
		id.Warnings = append(id.Warnings, fmt.Sprintf("the manifest pins a digest for %s, and none for this platform, %s", strings.Join(slices.Sorted(maps.Keys(m.Identity.Pins)), ", "), h.platform))
	}
	if failure == nil {
		failure = checkPin(ctx, m, h.platform, kindDigest, id.Measured)
	}
	if failure == nil {
		version, failure = h.health(ctx, m, &id, version)
		if err := ctx.Err(); err != nil {
			return Identification{}, err
		}
	}
	if failure == nil && version != m.Version {
		failure = skewOf(m, version, id.Measured)
	}
	if failure != nil {
		return h.refused(id, failure)
	}
	record := h.record(m)
	if err := available(&record, m, &id, version, kindDigest, config); err != nil {
		return h.refused(id, err)
	}
	runtime, err := NewRuntime(record)
	if err != nil {
		return h.refused(id, AsError(err, CodeMalformedRuntime))
	}
	id.Runtime = runtime
	return id, nil
}

// refused makes the UNAVAILABLE record.
func (h *Host) refused(id Identification, failure *Error) (Identification, error) {
	id.Failure = named(id.Manifest, failure)
	text := id.Failure.Message
	if text == "" {
		text = id.Failure.Error()
	}
	var err error
	id.Runtime, err = NewRuntime(unavailable(h.record(id.Manifest), text))
	return id, err
}

func versionSkew(m *Manifest, measured string) *Error {
	return &Error{
		Code: CodeUnavailable, Reason: ReasonVersionSkew, Provider: m.ID,
		Message: fmt.Sprintf("version %s is installed, the manifest pins %s", measured, m.Version),
		Hint:    fmt.Sprintf("install version %s, or change the manifest after review", m.Version),
	}
}

// skewOf is versionSkew with the file that told the version.
func skewOf(m *Manifest, told string, measured Measured) *Error {
	e := versionSkew(m, told)
	switch {
	case measured.Executable != nil:
		e.Path = measured.Executable.Path
	case measured.Distribution != nil:
		e.Path = measured.Distribution.MetadataDir
	}
	return e
}

// record is what the manifest alone determines.
func (h *Host) record(m *Manifest) Record {
	return Record{RuntimeVersion: RuntimeVersion, Provider: m.ID, Platform: h.platform, InstallTier: m.InstallTier, LicenseID: m.LicenseID}
}

// unavailable leaves features, checkers, configuration and licence files empty:
// nothing is claimed of what was not measured.
func unavailable(r Record, diagnostic string) Record {
	if diagnostic == "" {
		diagnostic = "unavailable, and the reason could not be determined"
	}
	r.Availability, r.Diagnostic = Unavailable, &diagnostic
	return r
}

// available fills in what was measured.
func available(r *Record, m *Manifest, id *Identification, version string, d godigest.Digest, config map[string]any) *Error {
	kind := m.Identity.Kind
	r.Availability, r.Version, r.Digest, r.DigestKind = Available, &version, &d, &kind
	r.Features = m.Features
	if path, ok := unrepresentable(config); ok {
		return &Error{
			Code: CodeIdentityIncomplete, Reason: ReasonPathUnrepresentable, Path: path,
			Message: fmt.Sprintf("path %+q is not Unicode text in form NFC, so no record can hold it and nobody could measure it again", path),
			Hint:    "install it under a plain name",
		}
	}
	data, err := json.Marshal(config)
	if err != nil {
		return AsError(err, CodeMalformedRuntime)
	}
	r.Configuration = data
	if kind == digest.PythonRecord {
		name := m.Identity.ImportName
		r.ImportName, r.RequiredAttribs = &name, m.Identity.RequiredAttributes
		r.LicenseFiles = id.Measured.Distribution.LicenseFiles
	}
	if kind == digest.CompositeKind {
		r.InstallTier, r.LicenseID = compositeTierAndLicense(id.Measured.Components)
		id.Warnings = append(id.Warnings, compositeWarnings(m, r)...)
	}
	return nil
}

// unrepresentable finds a string that would not survive canonical JSON.
func unrepresentable(config map[string]any) (string, bool) {
	bad := func(s string) bool { return !utf8.ValidString(s) || !norm.NFC.IsNormalString(s) }
	for _, key := range slices.Sorted(maps.Keys(config)) {
		list, _ := config[key].([]string)
		if s, ok := config[key].(string); ok {
			list = []string{s}
		}
		if i := slices.IndexFunc(list, bad); i >= 0 {
			return list[i], true
		}
	}
	return "", false
}

// measure computes the identity and what goes into configuration. Version is ""
// when only the health probe can tell it.
func (h *Host) measure(ctx context.Context, m *Manifest, id *Identification, component ComponentFunc) (version string, d godigest.Digest, config map[string]any, failure *Error) {
	switch m.Identity.Kind {
	case digest.ExecutableKind:
		return h.measureExecutable(ctx, m, id)
	case digest.SourceTree:
		return h.measureTree(ctx, m, id)
	case digest.PythonRecord:
		return h.measureDistribution(ctx, m, id)
	case digest.CompositeKind:
		return h.measureComposite(ctx, m, id, component)
	}
	return "", "", nil, &Error{Code: CodeIdentityIncomplete, Message: fmt.Sprintf("identity kind %q", m.Identity.Kind)}
}

// checkPin compares with the digest that the manifest pins for this platform.
func checkPin(ctx context.Context, m *Manifest, platform string, d godigest.Digest, measured Measured) *Error {
	pin, ok := m.Identity.Pins[platform]
	if !ok || pin == d.String() {
		return nil
	}
	e := &Error{
		Code: CodeUnavailable, Reason: ReasonDigestPin,
		Message: fmt.Sprintf("measured %s, the manifest pins %s", d, pin),
		Hint:    "install the pinned build, or change the pin after review",
	}
	if measured.Executable != nil {
		e.Path = measured.Executable.Path
	}
	if measured.Distribution != nil {
		e.Path = measured.Distribution.MetadataDir
	}
	if measured.Tree != nil && m.Identity.Root != "" {
		e.Path = measured.Tree.Root
		noteLineEndings(ctx, e, godigest.Digest(pin), measured.Tree.Root, digest.TreeOptions{Exclude: m.Identity.Exclude})
	}
	return e
}

// health runs the health probe, if there is one, and returns the version that it
// told, or the given one.
func (h *Host) health(ctx context.Context, m *Manifest, id *Identification, version string) (string, *Error) {
	p := m.Probes.Health
	if p == nil {
		return version, nil
	}
	result, err := h.RunProbe(ctx, m, id.Measured, p, CodeUnavailable)
	id.Health = result
	if err != nil {
		e := AsError(err, CodeUnavailable)
		if result != nil && result.Outcome == probe.Exited {
			// Another version than the pinned one often answers in another form,
			// and then the version is the news.
			if told := p.Expect.version(result.Stdout, result.Stderr); told != "" && told != m.Version {
				return "", skewOf(m, told, id.Measured)
			}
		}
		failed := *e
		failed.Message = "health probe: " + e.Message
		return "", &failed
	}
	if told := p.Expect.version(result.Stdout, result.Stderr); told != "" {
		return told, nil
	}
	if version == "" {
		return "", &Error{Code: CodeUnavailable, Reason: ReasonVersionUnknown, Message: "the health probe told no version"}
	}
	return version, nil
}
