package catalog

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/provider-measure/provider-measure/provider"
)

// Each row is wrong in its own way and in every later one, so the first reason
// must win. Behaviours 27 and 46.
func TestRegisterOrder(t *testing.T) {
	badExample := func(r *DescriptorRecord) { r.Examples[0].Input = jsontext.Value(`{"n":-1}`) }
	badOutput := func(r *DescriptorRecord) { badExample(r); r.OutputSchema = jsontext.Value(`{"type":"objekt"}`) }
	badInput := func(r *DescriptorRecord) { badOutput(r); r.InputSchema = jsontext.Value(`{"type":1}`) }
	down := func(r *DescriptorRecord) {
		badInput(r)
		rt := unavailable(t, "demo-tool", "the binary is gone")
		r.ProviderRuntime = &rt
	}
	missing := func(r *DescriptorRecord) { badInput(r); r.ProviderRuntime = nil }
	tests := []struct {
		name, id string
		edit     func(*DescriptorRecord)
		code     Code
		path     string
		says     string
	}{
		{"duplicate", "graph.taken", missing, CodeDuplicateID, "", "demo-tool"},
		{"duplicate of an unavailable one", "graph.taken", down, CodeDuplicateID, "", ""},
		{"no runtime", "graph.new", missing, CodeRuntimeMissing, "/provider_runtime", ""},
		{"unavailable", "graph.new", down, CodeRuntimeUnavailable, "/provider_runtime", "the binary is gone"},
		{"input schema", "graph.new", badInput, CodeSchemaInvalid, "/input_schema", "/type"},
		{"output schema", "graph.new", badOutput, CodeSchemaInvalid, "/output_schema", "/type"},
		{"example", "graph.new", badExample, CodeExampleRejected, "/invocation_examples/0/input/n", "minimum"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var r Registry
			taken := descriptor(t, "graph.taken")
			if err := r.Register(taken); err != nil {
				t.Fatal(err)
			}
			err := r.Register(descriptor(t, tt.id, tt.edit))
			e := wantCode(t, err, tt.code)
			if e.ID != tt.id || e.Provider != "demo-tool" || e.Path != tt.path || e.Hint == "" || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("ID %q, provider %q, path %q, hint %q, says %q", e.ID, e.Provider, e.Path, e.Hint, err)
			}
			if got := r.Descriptors(); len(got) != 1 || !got[0].Equal(taken) {
				t.Errorf("the registry holds %v", got)
			}
		})
	}
	var r Registry
	wantCode(t, r.Register(Descriptor{}), CodeRuntimeMissing)
}

func TestRegisterSchemas(t *testing.T) {
	tests := []struct {
		name, schema, input string
		code                Code // "" is accepted
	}{
		{"the default dialect has prefixItems", `{"properties":{"n":{"prefixItems":[{"type":"string"}]}}}`, `{"n":[1]}`, CodeExampleRejected},
		{"dialect named", `{"$schema":"https://json-schema.org/draft/2020-12/schema"}`, `{}`, ""},
		{"empty fragment", `{"$schema":"https://json-schema.org/draft/2020-12/schema#"}`, `{}`, ""},
		{"draft 7", `{"$schema":"http://json-schema.org/draft-07/schema#"}`, `{}`, CodeSchemaInvalid},
		{"a dialect of one's own", `{"$schema":"https://example.com/schema"}`, `{}`, CodeSchemaInvalid},
		{"dialect of another type", `{"$schema":7}`, `{}`, CodeSchemaInvalid},
		{"reference within", `{"$ref":"#/$defs/a","$defs":{"a":{"required":["n"]}}}`, `{}`, CodeExampleRejected},
		{"recursive", `{"$ref":"#/$defs/a","$defs":{"a":{"properties":{"n":{"$ref":"#/$defs/a"}},"additionalProperties":false}}}`, `{"n":{"n":{"x":1}}}`, CodeExampleRejected},
		{"reference to nothing", `{"$ref":"#/$defs/b"}`, `{}`, CodeSchemaInvalid},
		{"endless reference", `{"$ref":"#"}`, `{}`, CodeExampleRejected},
		{"own ID", `{"$id":"https://example.com/a","$ref":"b","$defs":{"b":{"$id":"b","required":["n"]}}}`, `{}`, CodeExampleRejected},
		{"malformed ID", `{"$id":"::"}`, `{}`, CodeSchemaInvalid},
		{"metaschema", `{"$ref":"https://json-schema.org/draft/2020-12/schema"}`, `{"type":"objekt"}`, CodeExampleRejected},
		{"format is asserted", `{"properties":{"d":{"format":"date"}}}`, `{"d":"2026-02-30"}`, CodeExampleRejected},
		{"pattern", `{"properties":{"s":{"pattern":"^a+$"}}}`, `{"s":"b"}`, CodeExampleRejected},
		{"look-ahead", `{"properties":{"s":{"pattern":"^(?=a)"}}}`, `{"s":"b"}`, CodeSchemaInvalid},
		{"not a number", `{"minLength":-1}`, `{}`, CodeSchemaInvalid},
		{"unknown keyword", `{"x-note":"fine"}`, `{}`, ""},
		{"large integers are not rounded", `{"properties":{"n":{"maximum":9007199254740990}}}`, `{"n":9007199254740991}`, CodeExampleRejected},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var r Registry
			err := r.Register(descriptor(t, "graph.demo", func(d *DescriptorRecord) {
				d.InputSchema, d.Examples[0].Input = jsontext.Value(tt.schema), jsontext.Value(tt.input)
			}))
			if tt.code == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			wantCode(t, err, tt.code)
			if strings.ContainsRune(err.Error(), '\n') {
				t.Errorf("on more than one line: %q", err)
			}
		})
	}
}

// Nothing outside the schema is read: not by HTTP, not from a file, however the
// reference is written.
func TestRegisterLoadsNothing(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("%s was asked for", r.URL)
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "schema.json")
	if err := os.WriteFile(file, []byte(`{}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, schema := range []string{
		fmt.Sprintf(`{"$ref":"%s/a.json"}`, server.URL),
		fmt.Sprintf(`{"$dynamicRef":"%s/a.json#x"}`, server.URL),
		fmt.Sprintf(`{"$id":"%s/a/","properties":{"n":{"$ref":"b.json"}}}`, server.URL),
		fmt.Sprintf(`{"$defs":{"a":{"$id":"https://example.com/x","$schema":"%s/meta"}}}`, server.URL),
		fmt.Sprintf(`{"$ref":"file://%s"}`, file),
		fmt.Sprintf(`{"$ref":"%s"}`, file),
		`{"$ref":"schema.json"}`,
		`{"$ref":"../schema.json"}`,
		`{"$ref":"urn:example:a"}`,
		`{"$ref":"https://json-schema.org/draft/2020-12/none"}`,
	} {
		for _, which := range []string{"/input_schema", "/output_schema"} {
			t.Run(schema+which, func(t *testing.T) {
				var r Registry
				err := r.Register(descriptor(t, "graph.demo", func(d *DescriptorRecord) {
					if which == "/input_schema" {
						d.InputSchema = jsontext.Value(schema)
					} else {
						d.OutputSchema = jsontext.Value(schema)
					}
				}))
				e := wantCode(t, err, CodeSchemaInvalid)
				if !errors.Is(err, CodeSchemaReference) || e.Path != which {
					t.Errorf("got %v at %q", err, e.Path)
				}
			})
		}
	}
}

func TestInstanceFaults(t *testing.T) {
	schema, err := compileSchema([]byte(`{"items":{"type":"integer"},"prefixItems":[{"properties":{"a/b~c":{"type":"null"}}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	path, err := validateInstance(schema, []byte(`[{"a/b~c":1},"x","y","z","w"]`))
	if err == nil || path != "/0/a~1b~0c" || !strings.HasSuffix(err.Error(), "; and 2 more") {
		t.Errorf("%q: %v", path, err)
	}
}

func TestRegistryCatalog(t *testing.T) {
	var r Registry
	both := []provider.Mode{provider.Verify, provider.Explore}
	for _, d := range []Descriptor{
		descriptor(t, "sat.solve", func(r *DescriptorRecord) {
			r.Modes, r.Tags = both, []string{"sat"}
			verify := r.Examples[0]
			verify.Name, verify.Mode = "two", provider.Verify
			r.Examples = append(r.Examples, verify)
		}),
		descriptor(t, "knowledge.search", func(r *DescriptorRecord) { r.Tags = []string{"Retrieval"} }),
		descriptor(t, "graph.demo"),
	} {
		if err := r.Register(d); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name    string
		policy  Policy
		offered []string
		denied  []Denial
	}{
		{"default", policy(t, ProfileDefault, Rules{}), []string{"graph.demo", "knowledge.search", "sat.solve"}, nil},
		// Behaviour 44.
		{"no retrieval", policy(t, ProfileNoRetrieval, Rules{}), []string{"graph.demo", "sat.solve"}, []Denial{{"knowledge.search", "demo-tool", []string{ReasonTagDenied}}}},
		{"trimmed", policy(t, ProfileDefault, Rules{DeniedModes: []provider.Mode{provider.Explore}}), []string{"sat.solve"}, []Denial{
			{"graph.demo", "demo-tool", []string{ReasonModeDenied}}, {"knowledge.search", "demo-tool", []string{ReasonModeDenied}},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, denied, err := r.Catalog(tt.policy)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.offered, c.IDs()); diff != "" {
				t.Errorf("offered: -want +got\n%s", diff)
			}
			if diff := cmp.Diff(tt.denied, denied); diff != "" {
				t.Errorf("denied: -want +got\n%s", diff)
			}
			if c.PolicyProfile() != string(tt.policy.Profile()) || c.PolicyDigest() != tt.policy.Digest() {
				t.Errorf("policy %s %s", c.PolicyProfile(), c.PolicyDigest())
			}
			printed, err := c.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			// What a policy leaves is still a catalog that anybody reads.
			if again, err := ParseCatalog(printed); err != nil || again.Digest() != c.Digest() {
				t.Errorf("reads back as %v, %v", again, err)
			}
		})
	}
	c, _, err := r.Catalog(tests[2].policy)
	if err != nil {
		t.Fatal(err)
	}
	d, ok := c.Lookup("sat.solve")
	if got := d.Record(); !ok || len(got.Modes) != 1 || got.Modes[0] != provider.Verify || len(got.Examples) != 1 || got.Examples[0].Name != "two" {
		t.Errorf("projected to %+v", d.Record())
	}
	if full, ok := r.byID["sat.solve"]; !ok || len(full.Modes()) != 2 {
		t.Error("the registered descriptor was trimmed")
	}
	if _, ok := c.Lookup("graph.demo"); ok {
		t.Error("a denied capability is found")
	}
	_, _, err = r.Catalog(Policy{})
	wantCode(t, err, CodePolicyInvalid)
}
