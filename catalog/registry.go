package catalog

import (
	"fmt"
	"maps"
	"slices"
)

// Registry collects the descriptors that a catalog is made of. The zero value is
// empty and ready. It is not safe for concurrent use; the catalogs that it makes
// are.
type Registry struct {
	byID map[string]Descriptor
}

// Register adds d. It refuses, in this order and adding nothing: an ID that it
// has already ([CodeDuplicateID]); a descriptor without a runtime
// ([CodeRuntimeMissing]); a runtime that is not AVAILABLE
// ([CodeRuntimeUnavailable], with its diagnostic); an input or output schema
// that is not a JSON Schema 2020-12 ([CodeSchemaInvalid]); an example that the
// input schema rejects ([CodeExampleRejected]).
func (r *Registry) Register(d Descriptor) error {
	refuse := func(code Code, path string, err error, hint string) error {
		return &Error{Code: code, Op: "register", ID: d.ID(), Provider: d.Provider(), Path: path, Err: err, Hint: hint}
	}
	if before, ok := r.byID[d.ID()]; ok {
		return refuse(CodeDuplicateID, "", fmt.Errorf("provider %s offers it already", before.Provider()), "give each capability an ID of its own")
	}
	rt := d.Runtime()
	if rt.IsZero() {
		return refuse(CodeRuntimeMissing, "/provider_runtime", fmt.Errorf("no runtime was measured for it"), "identify its provider first")
	}
	if !rt.Available() {
		return refuse(CodeRuntimeUnavailable, "/provider_runtime", fmt.Errorf("%s is not AVAILABLE: %s", rt.Provider(), rt.Diagnostic()), "mend the provider; `provider-measure doctor` says how")
	}
	input, err := compileSchema(d.r.InputSchema)
	if err != nil {
		return refuse(CodeSchemaInvalid, "/input_schema", err, "write a JSON Schema 2020-12 that refers to nothing outside itself")
	}
	if _, err := compileSchema(d.r.OutputSchema); err != nil {
		return refuse(CodeSchemaInvalid, "/output_schema", err, "write a JSON Schema 2020-12 that refers to nothing outside itself")
	}
	for i, e := range d.r.Examples {
		if at, err := validateInstance(input, e.Input); err != nil {
			path := fmt.Sprintf("/invocation_examples/%d/input%s", i, at)
			return refuse(CodeExampleRejected, path, fmt.Errorf("example %s: %w", e.Name, err), "correct the example, or the schema")
		}
	}
	if r.byID == nil {
		r.byID = map[string]Descriptor{}
	}
	r.byID[d.ID()] = d
	return nil
}

// Descriptors are all registered descriptors in byte order of ID, whatever any
// policy says.
func (r *Registry) Descriptors() []Descriptor {
	out := make([]Descriptor, 0, len(r.byID))
	for _, id := range slices.Sorted(maps.Keys(r.byID)) {
		out = append(out, r.byID[id])
	}
	return out
}

// Denial is a registered capability that a policy keeps out of the catalog.
type Denial struct {
	CapabilityID string   `json:"capability_id"`
	Provider     string   `json:"provider"`
	Reasons      []string `json:"reasons"`
}

// Catalog is what is registered as policy shows it, and what it leaves out. A
// later registration does not change it. The error is [CodePolicyInvalid] for
// the zero policy, which allows nothing, and [CodeDocumentInvalid] for a catalog
// over the size that anybody may read.
func (r *Registry) Catalog(policy Policy) (*Catalog, []Denial, error) {
	if policy.IsZero() {
		return nil, nil, &Error{Code: CodePolicyInvalid, Op: "make catalog", Message: "there is no policy"}
	}
	var offered []Descriptor
	var denied []Denial
	for _, d := range r.Descriptors() {
		decision := policy.Decide(d)
		if !decision.Allowed {
			denied = append(denied, Denial{CapabilityID: d.ID(), Provider: d.Provider(), Reasons: decision.Reasons})
			continue
		}
		projected, err := d.project(decision.Modes)
		if err != nil {
			return nil, nil, err
		}
		offered = append(offered, projected)
	}
	c, err := newCatalog("make catalog", string(policy.Profile()), policy.Digest(), offered)
	if err != nil {
		return nil, nil, err
	}
	return c, denied, nil
}
