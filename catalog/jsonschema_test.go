package catalog

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/provider-measure/provider-measure/internal/schemagen"
)

func printSchema(t *testing.T, make func() (*jsonschema.Schema, error)) []byte {
	t.Helper()
	s, err := make()
	if err != nil {
		t.Fatal(err)
	}
	printed, err := schemagen.Print(s)
	if err != nil {
		t.Fatal(err)
	}
	return printed
}

// The published schema and the parser agree, but for what the schema says it
// leaves to the parser.
func TestDescriptorSchema(t *testing.T) {
	schema, err := compileSchema(printSchema(t, DescriptorSchema))
	if err != nil {
		t.Fatal(err)
	}
	good := string(descriptor(t, "graph.demo").canonical)
	artifact := string(descriptor(t, "graph.demo", func(r *DescriptorRecord) {
		r.InputKinds, r.ArtifactTypes = []string{KindTypedArtifact}, []string{"proof"}
	}).canonical)
	swap := func(from, to string) string {
		if !strings.Contains(good, from) {
			t.Fatalf("nothing to replace for %s", from)
		}
		return strings.Replace(good, from, to, 1)
	}
	for _, in := range []string{
		good, artifact,
		string(descriptor(t, "graph.demo", func(r *DescriptorRecord) { r.ProviderRuntime = nil }).canonical),
		swap(`"tags":["graph"],`, ""),
		swap(`"descriptor_version":"1"`, `"descriptor_version":"2"`),
		swap(`"capability_id":"graph.demo"`, `"capability_id":"graph"`),
		swap(`"description":"A demonstration."`, `"description":""`),
		swap(`"title":"Demo"`, `"title":"`+strings.Repeat("x", 129)+`"`),
		swap(`"title":"Demo",`, ``),
		swap(`"title":"Demo"`, `"titel":"Demo"`),
		swap(`"title":"Demo"`, `"title":null`),
		swap(`"tags":["graph"]`, `"tags":null`),
		swap(`"tags":["graph"]`, `"tags":[""]`),
		swap(`"modes":["EXPLORE"]`, `"modes":[]`),
		swap(`"modes":["EXPLORE"]`, `"modes":["EXPLORE","EXPLORE"]`),
		swap(`"modes":["EXPLORE"]`, `"modes":["PROVE"]`),
		swap(`"output_schema":{"type":"object"}`, `"output_schema":true`),
		swap(`"read_only":true`, `"read_only":1`),
		swap(`"accepted_input_kinds":["STRUCTURED_REQUEST"]`, `"accepted_input_kinds":["TYPED_ARTIFACT"]`),
		swap(`"accepted_artifact_types":[]`, `"accepted_artifact_types":["proof"]`),
		swap(`"name":"one"`, `"name":"One"`),
		swap(`"availability":"AVAILABLE"`, `"availability":"UNAVAILABLE"`),
		swap(`"install_tier":"T2"`, `"install_tier":"T4"`),
		swap(`"mode":"EXPLORE"`, `"mode":"PROVE"`),
	} {
		_, parses := ParseDescriptor([]byte(in))
		_, validates := validateInstance(schema, []byte(in))
		if (parses == nil) != (validates == nil) {
			t.Errorf("%s\nparser: %v\nschema: %v", in, parses, validates)
		}
	}
}

func TestCatalogSchema(t *testing.T) {
	schema, err := compileSchema(printSchema(t, CatalogSchema))
	if err != nil {
		t.Fatal(err)
	}
	good := string(catalogOf(t, descriptor(t, "a.demo"), descriptor(t, "b.demo")).canonical)
	down := unavailable(t, "demo-tool", "gone")
	unhealthy := string(descriptor(t, "a.demo", func(r *DescriptorRecord) { r.ProviderRuntime = &down }).canonical)
	noRuntime := string(descriptor(t, "a.demo", func(r *DescriptorRecord) { r.ProviderRuntime = nil }).canonical)
	one := func(d string) string {
		return fmt.Sprintf(`{"catalog_version":"1","policy_digest":"sha256:%064d","policy_profile":"DEFAULT","capabilities":[%s]}`, 0, d)
	}
	for _, in := range []string{
		good, one(""), one(unhealthy), one(noRuntime), one("null"),
		strings.Replace(good, `"catalog_version":"1"`, `"catalog_version":1`, 1),
		strings.Replace(good, `"policy_profile":"DEFAULT"`, `"policy_profile":""`, 1),
		strings.Replace(good, `"sha256:`, `"sha512:`, -1),
		strings.Replace(good, `{`, `{"x":1,`, 1),
	} {
		_, parses := ParseCatalog([]byte(in))
		_, validates := validateInstance(schema, []byte(in))
		if (parses == nil) != (validates == nil) {
			t.Errorf("%s\nparser: %v\nschema: %v", in, parses, validates)
		}
	}
}

// Each schema is one document with one ID, the same on each run.
func TestSchemasAreStable(t *testing.T) {
	for name, make := range map[string]func() (*jsonschema.Schema, error){"capability-descriptor": DescriptorSchema, "capability-catalog": CatalogSchema} {
		printed := printSchema(t, make)
		if string(printed) != string(printSchema(t, make)) {
			t.Errorf("%s prints differently each time", name)
		}
		var root struct {
			ID     string `json:"$id"`
			Schema string `json:"$schema"`
		}
		if err := json.Unmarshal(printed, &root); err != nil || root.ID != "urn:provider-measure:schema:"+name || root.Schema != dialect2020 {
			t.Errorf("%s: %+v, %v", name, root, err)
		}
		if n := strings.Count(string(printed), `"$id"`); n != 1 {
			t.Errorf("%s has %d IDs", name, n)
		}
	}
}
