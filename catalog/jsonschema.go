package catalog

import (
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/provider-measure/provider-measure/internal/schemagen"
	"github.com/provider-measure/provider-measure/provider"
)

// DescriptorSchema is the JSON Schema of a capability descriptor. Rules that
// join members, and those of the schemas and examples in it, are checked by
// [ParseDescriptor] and [Registry.Register] only.
func DescriptorSchema() (*jsonschema.Schema, error) {
	s, err := descriptorSchema()
	if err != nil {
		return nil, err
	}
	null := &jsonschema.Schema{Type: "null"}
	s.Properties["provider_runtime"] = &jsonschema.Schema{AnyOf: []*jsonschema.Schema{s.Properties["provider_runtime"], null}}
	return s, nil
}

// descriptorSchema is the schema of a descriptor that is registered: its runtime
// is not null.
func descriptorSchema() (*jsonschema.Schema, error) {
	record, err := provider.RecordSchema()
	if err != nil {
		return nil, err
	}
	// It stands inside another document here, which says both.
	record.ID, record.Schema = "", ""
	s, err := schemagen.For[DescriptorRecord]("capability-descriptor", "Capability descriptor", nil)
	if err != nil {
		return nil, err
	}
	s.Properties["provider_runtime"] = record
	s.Description = "One named operation, with the measured runtime that performs it."
	one := 1
	atLeastOne := func(s *jsonschema.Schema) { s.MinItems = &one }
	err = schemagen.Apply(s, []schemagen.Rule{
		{Path: "descriptor_version", Set: schemagen.Enum(DescriptorVersion)},
		{Path: "capability_id", Set: schemagen.Text(3, 128, capabilityPattern)},
		{Path: "version", Set: schemagen.Text(1, 64, "")},
		{Path: "title", Set: schemagen.Text(1, 128, "")},
		{Path: "description", Set: schemagen.Text(1, 512, "")},
		{Path: "provider", Set: schemagen.Text(1, 128, "")},
		{Path: "input_schema", Set: schemagen.Object},
		{Path: "output_schema", Set: schemagen.Object},
		{Path: "tags", Set: notNull},
		{Path: "tags.[]", Set: schemagen.Text(1, 128, "")},
		{Path: "modes", Set: schemagen.Set(2)},
		{Path: "modes", Set: atLeastOne},
		{Path: "modes.[]", Set: schemagen.Enum(string(provider.Explore), string(provider.Verify))},
		{Path: "accepted_input_kinds", Set: schemagen.Set(0)},
		{Path: "accepted_input_kinds", Set: atLeastOne},
		{Path: "accepted_input_kinds.[]", Set: schemagen.Enum(inputKinds()...)},
		{Path: "accepted_artifact_types", Set: schemagen.Set(0)},
		{Path: "accepted_artifact_types.[]", Set: schemagen.Text(1, 128, "")},
		{Path: "invocation_examples", Set: notNull},
		{Path: "invocation_examples.[].name", Set: schemagen.Text(1, 64, namePattern)},
		{Path: "invocation_examples.[].description", Set: schemagen.Text(1, 256, "")},
		{Path: "invocation_examples.[].mode", Set: schemagen.Enum(string(provider.Explore), string(provider.Verify))},
	})
	if err != nil {
		return nil, err
	}
	var always []string
	for _, key := range s.Required {
		if descriptorPresence(key) != optional {
			always = append(always, key)
		}
	}
	s.Required = always
	s.If, s.Then, s.Else = artifactRule()
	return s, nil
}

// artifactRule: artifact types are named exactly when artifacts are accepted.
func artifactRule() (condition, then, otherwise *jsonschema.Schema) {
	var artifact any = KindTypedArtifact
	one, zero := 1, 0
	types := func(s *jsonschema.Schema) map[string]*jsonschema.Schema {
		return map[string]*jsonschema.Schema{"accepted_artifact_types": s}
	}
	condition = &jsonschema.Schema{
		Properties: map[string]*jsonschema.Schema{"accepted_input_kinds": {Contains: &jsonschema.Schema{Const: &artifact}}},
		Required:   []string{"accepted_input_kinds"},
	}
	then = &jsonschema.Schema{Properties: types(&jsonschema.Schema{MinItems: &one}), Required: []string{"accepted_artifact_types"}}
	return condition, then, &jsonschema.Schema{Properties: types(&jsonschema.Schema{MaxItems: &zero})}
}

// CatalogSchema is the JSON Schema of the catalog document. That capabilities
// are sorted and unique is checked by [ParseCatalog] only.
func CatalogSchema() (*jsonschema.Schema, error) {
	descriptor, err := descriptorSchema()
	if err != nil {
		return nil, err
	}
	descriptor.ID, descriptor.Schema = "", ""
	types := map[reflect.Type]*jsonschema.Schema{reflect.TypeFor[Descriptor](): descriptor}
	s, err := schemagen.For[catalogDocument[Descriptor]]("capability-catalog", "Capability catalog", types)
	if err != nil {
		return nil, err
	}
	s.Description = "What is offered, each with the runtime that was measured. It is never evidence that an answer is true."
	err = schemagen.Apply(s, []schemagen.Rule{
		{Path: "catalog_version", Set: schemagen.Enum(CatalogVersion)},
		{Path: "policy_profile", Set: schemagen.Text(1, 64, "")},
		{Path: "capabilities", Set: notNull},
	})
	if err != nil {
		return nil, err
	}
	return s, requireAvailable(s)
}

// requireAvailable narrows the runtime of each listed descriptor.
func requireAvailable(s *jsonschema.Schema) error {
	availability, err := schemagen.At(s, "capabilities", "[]", "provider_runtime", "availability")
	if err != nil {
		return err
	}
	availability.Enum = []any{string(provider.Available)}
	return nil
}

// notNull makes a list of a list or null.
func notNull(s *jsonschema.Schema) { s.Type, s.Types = "array", nil }
