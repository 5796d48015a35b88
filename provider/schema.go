package provider

import (
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/provider-measure/provider-measure/internal/schemagen"
)

// RecordSchema is the JSON Schema of the runtime identity record.
func RecordSchema() (*jsonschema.Schema, error) {
	s, err := schemagen.For[Record]("runtime-record", "Runtime identity record", nil)
	if err != nil {
		return nil, err
	}
	s.Description = "The measured identity of one provider on one host. It says which bytes are installed, and is never evidence that an answer is true."
	err = schemagen.Apply(s, []schemagen.Rule{
		{Path: "runtime_version", Set: schemagen.Enum(RuntimeVersion)},
		{Path: "provider", Set: schemagen.Text(3, 128, providerPattern)},
		{Path: "availability", Set: schemagen.Enum(string(Available), string(Unavailable))},
		{Path: "version", Set: schemagen.Text(1, 128, "")},
		{Path: "digest_kind", Set: schemagen.Enum("SOURCE_TREE", "PYTHON_DISTRIBUTION_RECORD", "EXECUTABLE", "COMPOSITE")},
		{Path: "platform", Set: schemagen.Text(1, 128, "")},
		{Path: "install_tier", Set: schemagen.Enum("T0", "T1", "T2", "T3")},
		{Path: "license_id", Set: schemagen.Text(1, 128, "")},
		{Path: "license_files", Set: schemagen.Set(0)},
		{Path: "license_files.[]", Set: schemagen.Text(1, 256, relativePathPattern)},
		{Path: "features", Set: schemagen.Set(0)},
		{Path: "features.[]", Set: schemagen.Text(1, 128, "")},
		{Path: "checker_ids", Set: schemagen.Set(0)},
		{Path: "checker_ids.[]", Set: schemagen.Text(1, 0, checkerPattern)},
		{Path: "configuration", Set: schemagen.Object},
		{Path: "distribution_import_name", Set: schemagen.Text(1, 256, dottedPattern)},
		{Path: "distribution_required_attributes", Set: schemagen.Set(64)},
		{Path: "distribution_required_attributes.[]", Set: schemagen.Text(1, 0, identifierPattern)},
		{Path: "diagnostic", Set: schemagen.Text(1, maxDiagnostic, "")},
	})
	if err != nil {
		return nil, err
	}
	s.AllOf = recordStates()
	return s, nil
}

// recordStates are the rules that join keys.
func recordStates() []*jsonschema.Schema {
	constant := func(v any) *jsonschema.Schema { return &jsonschema.Schema{Const: &v} }
	null := func() *jsonschema.Schema { return &jsonschema.Schema{Type: "null"} }
	text := func() *jsonschema.Schema { return &jsonschema.Schema{Type: "string"} }
	when := func(key string, is *jsonschema.Schema) *jsonschema.Schema {
		return &jsonschema.Schema{Properties: map[string]*jsonschema.Schema{key: is}, Required: []string{key}}
	}
	zero := 0
	return []*jsonschema.Schema{
		{
			If: when("availability", constant(string(Available))),
			Then: &jsonschema.Schema{Properties: map[string]*jsonschema.Schema{
				"version": text(), "digest": text(), "digest_kind": text(), "diagnostic": null(),
			}},
			Else: &jsonschema.Schema{Properties: map[string]*jsonschema.Schema{
				"version": null(), "digest": null(), "digest_kind": null(), "diagnostic": text(),
			}},
		},
		{
			If: when("digest_kind", constant("PYTHON_DISTRIBUTION_RECORD")),
			Else: &jsonschema.Schema{Properties: map[string]*jsonschema.Schema{
				"distribution_import_name":         null(),
				"distribution_required_attributes": {MaxItems: &zero},
			}},
		},
	}
}

// ManifestSchema is the JSON Schema of a manifest, for editors that check TOML
// against one. What hangs on several keys at once is checked by [ParseManifest]
// only.
func ManifestSchema() (*jsonschema.Schema, error) {
	s, err := schemagen.For[manifestFile]("manifest", "Provider manifest", nil)
	if err != nil {
		return nil, err
	}
	rules := []schemagen.Rule{
		{Path: "manifest_version", Set: schemagen.Range(manifestVersion, manifestVersion)},
		{Path: "provider.id", Set: schemagen.Text(3, 128, providerPattern)},
		{Path: "provider.title", Set: schemagen.Text(1, 128, "")},
		{Path: "provider.version", Set: schemagen.Text(1, 128, "")},
		{Path: "provider.install_tier", Set: schemagen.Enum("T0", "T1", "T2", "T3")},
		{Path: "provider.license_id", Set: schemagen.Text(1, 128, "")},
		{Path: "provider.features", Set: schemagen.Set(64)},
		{Path: "identity.kind", Set: schemagen.Enum("SOURCE_TREE", "PYTHON_DISTRIBUTION_RECORD", "EXECUTABLE", "COMPOSITE")},
		{Path: "identity.required_attributes", Set: schemagen.Set(64)},
		{Path: "identity.components", Set: schemagen.Set(64)},
		{Path: "identity.digest", Set: schemagen.Names(platformPattern)},
		{Path: "identity.digest.*", Set: schemagen.Text(71, 71, digestPattern)},
		{Path: "runtime.timeout_secs", Set: schemagen.Range(1, maxTimeoutSecs)},
		{Path: "install.method", Set: schemagen.Enum("python", "npm", "go", "command")},
		{Path: "install.timeout_secs", Set: schemagen.Range(1, maxTimeoutSecs)},
		{Path: "isolation.network", Set: schemagen.Enum("deny", "allow")},
		{Path: "isolation.require", Set: schemagen.Set(16)},
		{Path: "isolation.require.[]", Set: schemagen.Enum("network", "writes", "processes", "memory")},
		{Path: "requirements.[].name", Set: schemagen.Text(1, 64, namePattern)},
		{Path: "requirements.[].says", Set: schemagen.Text(1, 256, "")},
		{Path: "capabilities.[].id", Set: schemagen.Text(3, 128, capabilityPattern)},
		{Path: "capabilities.[].version", Set: schemagen.Text(1, 64, "")},
		{Path: "capabilities.[].title", Set: schemagen.Text(1, 128, "")},
		{Path: "capabilities.[].description", Set: schemagen.Text(1, 512, "")},
		{Path: "capabilities.[].modes", Set: schemagen.Set(2)},
		{Path: "capabilities.[].modes.[]", Set: schemagen.Enum("EXPLORE", "VERIFY")},
		{Path: "capabilities.[].examples.[].name", Set: schemagen.Text(1, 64, namePattern)},
		{Path: "capabilities.[].examples.[].description", Set: schemagen.Text(1, 256, "")},
	}
	for _, probe := range []string{"health", "readiness", "cold_start", "reproduction"} {
		rules = append(rules,
			schemagen.Rule{Path: "probes." + probe + ".timeout_secs", Set: schemagen.Range(1, maxTimeoutSecs)},
			schemagen.Rule{Path: "probes." + probe + ".expect.exit", Set: schemagen.Range(0, 255)})
	}
	if err := schemagen.Apply(s, rules); err != nil {
		return nil, err
	}
	return s, nil
}
