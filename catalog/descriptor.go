package catalog

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/provider-measure/provider-measure/internal/canonjson"
	"github.com/provider-measure/provider-measure/provider"
)

// DescriptorVersion is the only version of the capability descriptor.
const DescriptorVersion = "1"

// The kinds of input that a capability may accept.
const (
	KindStructuredRequest    = "STRUCTURED_REQUEST"
	KindFormalProposition    = "FORMAL_PROPOSITION"
	KindTypedArtifact        = "TYPED_ARTIFACT"
	KindNaturalLanguageProof = "NATURAL_LANGUAGE_PROOF"
)

// DescriptorRecord is the capability descriptor of the provider-runtime contract
// as plain data; a [Descriptor] is one that was checked.
type DescriptorRecord struct {
	DescriptorVersion string            `json:"descriptor_version"`
	CapabilityID      string            `json:"capability_id"`
	Version           string            `json:"version"`
	Title             string            `json:"title"`
	Description       string            `json:"description"`
	Provider          string            `json:"provider"`
	ProviderRuntime   *provider.Runtime `json:"provider_runtime"` // nil only before registration
	InputSchema       jsontext.Value    `json:"input_schema"`     // a JSON Schema 2020-12, an object
	OutputSchema      jsontext.Value    `json:"output_schema"`
	ReadOnly          bool              `json:"read_only"`
	Tags              []string          `json:"tags"`
	Modes             []provider.Mode   `json:"modes"`
	InputKinds        []string          `json:"accepted_input_kinds"` // nil: STRUCTURED_REQUEST
	ArtifactTypes     []string          `json:"accepted_artifact_types"`
	Examples          []Example         `json:"invocation_examples"`
}

// Example is a worked request.
type Example struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Input       jsontext.Value `json:"input"`
	Mode        provider.Mode  `json:"mode"`
}

// clone copies everything that a caller could otherwise write through.
func (r DescriptorRecord) clone() DescriptorRecord {
	if r.ProviderRuntime != nil {
		runtime := *r.ProviderRuntime
		r.ProviderRuntime = &runtime
	}
	r.InputSchema, r.OutputSchema = r.InputSchema.Clone(), r.OutputSchema.Clone()
	r.Tags, r.Modes = slices.Clone(r.Tags), slices.Clone(r.Modes)
	r.InputKinds, r.ArtifactTypes = slices.Clone(r.InputKinds), slices.Clone(r.ArtifactTypes)
	r.Examples = slices.Clone(r.Examples)
	for i := range r.Examples {
		r.Examples[i].Input = r.Examples[i].Input.Clone()
	}
	return r
}

// Descriptor is an immutable, valid capability descriptor. The zero value is no
// descriptor: its ID is empty and no registry takes it.
type Descriptor struct {
	r         DescriptorRecord
	canonical []byte // the whole descriptor, never written to
}

// NewDescriptor describes capability c of manifest m as it is run by rt. A zero
// rt gives a descriptor without a runtime, which can be printed and not
// registered. Every failure is [CodeDescriptorInvalid].
func NewDescriptor(m *provider.Manifest, c provider.Capability, rt provider.Runtime) (Descriptor, error) {
	record := DescriptorRecord{
		DescriptorVersion: DescriptorVersion, CapabilityID: c.ID, Version: c.Version, Title: c.Title, Description: c.Description,
		Provider: m.ID, InputSchema: c.InputSchema, OutputSchema: c.OutputSchema, ReadOnly: c.ReadOnly,
		Tags: c.Tags, Modes: c.Modes, InputKinds: c.InputKinds, ArtifactTypes: c.ArtifactTypes,
	}
	if !rt.IsZero() {
		record.ProviderRuntime = &rt
	}
	for _, e := range c.Examples {
		record.Examples = append(record.Examples, Example{Name: e.Name, Description: e.Description, Input: e.Input, Mode: e.Mode})
	}
	return DescriptorFrom(record)
}

// DescriptorFrom checks record against the contract and returns it as a
// Descriptor. Strings are kept in NFC and free-form JSON in canonical form; nil
// lists become empty, but nil input kinds the default. Every failure is
// [CodeDescriptorInvalid].
func DescriptorFrom(record DescriptorRecord) (Descriptor, error) {
	return describe("make descriptor", record)
}

// describe is the only maker of descriptors.
func describe(op string, record DescriptorRecord) (Descriptor, error) {
	refuse := func(path string, err error) (Descriptor, error) {
		return Descriptor{}, &Error{Code: CodeDescriptorInvalid, Op: op, ID: record.CapabilityID, Provider: record.Provider, Path: path, Err: err}
	}
	if record.InputKinds == nil {
		record.InputKinds = []string{KindStructuredRequest}
	}
	if path, err := record.checkValues(); err != nil {
		return refuse(path, err)
	}
	canonical, err := canonjson.Marshal(record)
	if err != nil {
		return refuse("", err)
	}
	if err := checkDepth(canonical); err != nil {
		return refuse("", err)
	}
	// Read back, so that what the accessors say is what is printed.
	var normal DescriptorRecord
	if err := json.Unmarshal(canonical, &normal); err != nil {
		return refuse("", err)
	}
	if path, err := normal.check(); err != nil {
		return refuse(path, err)
	}
	return Descriptor{r: normal, canonical: canonical}, nil
}

// project returns d with only the given modes, and without the examples of the
// others, which it would not be a valid descriptor with.
func (d Descriptor) project(modes []provider.Mode) (Descriptor, error) {
	if len(modes) == len(d.r.Modes) {
		return d, nil
	}
	record := d.r.clone()
	record.Modes = modes
	record.Examples = slices.DeleteFunc(record.Examples, func(e Example) bool { return !slices.Contains(modes, e.Mode) })
	return describe("apply policy", record)
}

// Record returns a copy of the descriptor as plain data.
func (d Descriptor) Record() DescriptorRecord { return d.r.clone() }

// IsZero reports whether d is no descriptor at all.
func (d Descriptor) IsZero() bool { return d.canonical == nil }

// ID is the capability's ID.
func (d Descriptor) ID() string { return d.r.CapabilityID }

// Provider is the ID of the provider that performs it.
func (d Descriptor) Provider() string { return d.r.Provider }

// Runtime is the provider's measured runtime; the zero value when the descriptor
// has none.
func (d Descriptor) Runtime() provider.Runtime {
	if d.r.ProviderRuntime == nil {
		return provider.Runtime{}
	}
	return *d.r.ProviderRuntime
}

// Modes are the advertised modes, in the manifest's order.
func (d Descriptor) Modes() []provider.Mode { return slices.Clone(d.r.Modes) }

// Equal reports whether both print the same.
func (d Descriptor) Equal(other Descriptor) bool { return bytes.Equal(d.canonical, other.canonical) }

// MarshalJSON prints all 15 keys in canonical form. The zero value prints null.
func (d Descriptor) MarshalJSON() ([]byte, error) {
	if d.IsZero() {
		return []byte("null"), nil
	}
	return bytes.Clone(d.canonical), nil
}

// UnmarshalJSON reads what [ParseDescriptor] accepts.
func (d *Descriptor) UnmarshalJSON(data []byte) error {
	parsed, err := ParseDescriptor(data)
	if err != nil {
		return err
	}
	*d = parsed
	return nil
}
