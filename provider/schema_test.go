package provider

import (
	"bytes"
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/pelletier/go-toml/v2"
	validator "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/provider-measure/provider-measure/internal/schemagen"
	"github.com/provider-measure/provider-measure/internal/testenv"
	"github.com/provider-measure/provider-measure/provider/builtin"
)

// compile reads a published schema with an implementation by others.
func compile(t testing.TB, s *jsonschema.Schema, err error) *validator.Schema {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	data, err := schemagen.Print(s)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := validator.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	c := validator.NewCompiler()
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

func validate(t testing.TB, s *validator.Schema, data []byte) error {
	t.Helper()
	doc, err := validator.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(doc)
}

// validateRecord holds a record that the code made against the published schema.
func validateRecord(t testing.TB, rt Runtime) {
	t.Helper()
	s, err := RecordSchema()
	data, merr := json.Marshal(rt)
	if merr != nil {
		t.Fatal(merr)
	}
	if err := validate(t, compile(t, s, err), data); err != nil {
		t.Errorf("%s: %v", data, err)
	}
}

func TestRecordSchema(t *testing.T) {
	s, err := RecordSchema()
	compiled := compile(t, s, err)
	for _, tt := range recordEdits() {
		err := validate(t, compiled, encode(t, tt.record()))
		if tt.code == "" && err != nil {
			t.Errorf("%s: refused: %v", tt.name, err)
		}
		if tt.code != "" && !tt.schemaBlind && err == nil {
			t.Errorf("%s: accepted", tt.name)
		}
	}
	for _, key := range recordKeys() {
		m := sample("EXECUTABLE")
		delete(m, key)
		if validate(t, compiled, encode(t, m)) == nil {
			t.Errorf("accepted without %s", key)
		}
	}
}

func tomlAsJSON(t testing.TB, data []byte) map[string]any {
	t.Helper()
	var v map[string]any
	if err := toml.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestManifestSchema(t *testing.T) {
	s, err := ManifestSchema()
	compiled := compile(t, s, err)
	names, err := fs.Glob(builtin.FS, builtinDir+"/*.toml")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		data, err := fs.ReadFile(builtin.FS, name)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate(t, compiled, encode(t, tomlAsJSON(t, data))); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, tt := range manifestEdits() {
		text := tt.text(t)
		var v map[string]any
		if toml.Unmarshal([]byte(text), &v) != nil {
			continue // not TOML at all
		}
		data, err := json.Marshal(v)
		if err != nil {
			continue // infinity, which JSON lacks
		}
		err = validate(t, compiled, data)
		if tt.reason == nil && err != nil {
			t.Errorf("%s: refused: %v", tt.name, err)
		}
		if tt.inSchema && err == nil {
			t.Errorf("%s: accepted", tt.name)
		}
	}
}

// update writes the published schemas anew.
func update() bool {
	f := flag.Lookup("update")
	return f != nil && f.Value.String() == "true"
}

func TestPublishedSchemas(t *testing.T) {
	for name, make := range map[string]func() (*jsonschema.Schema, error){
		"runtime-record.json": RecordSchema, "manifest.json": ManifestSchema,
	} {
		s, err := make()
		if err != nil {
			t.Fatal(err)
		}
		want, err := schemagen.Print(s)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(testenv.RepoRoot(t), "docs", "schemas", name)
		if update() {
			write(t, path, string(want))
		}
		got, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("docs/schemas/%s is stale (%v): go test ./provider -run TestPublishedSchemas -update", name, err)
		}
	}
}
