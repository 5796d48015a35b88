package builtin_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/provider-measure/provider-measure/provider/builtin"
)

// manifest is what these tests need of a manifest. Its whole grammar is package
// provider's, which cannot be imported here: it imports this package.
type manifest struct {
	Provider     struct{ ID, Version string }
	Identity     struct{ Kind, Executable string }
	Runtime      command
	Probes       map[string]command
	Capabilities []capability
}

type command struct {
	Argv   []string
	Stdin  string
	Set    map[string]string
	Expect struct {
		Exit           *int
		Stdout, Stderr struct{ Equals, Matches *string }
	}
}

type capability struct {
	ID           string
	InputSchema  string `toml:"input_schema"`
	OutputSchema string `toml:"output_schema"`
	Examples     []struct {
		Name  string
		Input map[string]any
	}
}

func manifests(t *testing.T) map[string]manifest {
	t.Helper()
	names, err := fs.Glob(builtin.FS, "providers/*.toml")
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string]manifest, len(names))
	for _, name := range names {
		data, err := builtin.FS.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var m manifest
		if err := toml.Unmarshal(data, &m); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if want := strings.TrimSuffix(path.Base(name), ".toml"); m.Provider.ID != want {
			t.Errorf("%s declares the provider %q", name, m.Provider.ID)
		}
		found[m.Provider.ID] = m
	}
	return found
}

func TestOffered(t *testing.T) {
	got := map[string]string{}
	for id, m := range manifests(t) {
		for _, c := range m.Capabilities {
			got[c.ID] = id + " " + m.Provider.Version
		}
	}
	want := map[string]string{
		"go.build.version":                "go-toolchain 1.26.8",
		"graph.compute.critical_group":    "graph-workers composite-1",
		"graph.compute.properties":        "networkx 3.6.1",
		"matrix.reduced_row_echelon_form": "python-flint 0.9.0",
		"matrix.smith_normal_form":        "provider-measure-workers 1.0.0",
		"sat.solve":                       "cadical 3.0.1",
		"smt.satisfiability":              "z3-solver 5.4.1.0",
		"smt.unsat_proof.find":            "cvc5 1.3.4",
		"symbolic.jacobian":               "sympy 1.14.0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("capabilities (-want +got):\n%s", diff)
	}
}

// TestEmbedded pins that the Python package is whole and has no bytecode.
func TestEmbedded(t *testing.T) {
	var modules []string
	err := fs.WalkDir(builtin.FS, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if strings.Contains(name, "__pycache__") || strings.HasSuffix(name, ".pyc") {
			t.Errorf("bytecode is embedded: %s", name)
		}
		if strings.HasSuffix(name, ".py") {
			modules = append(modules, path.Base(name))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"__init__.py", "__main__.py", "_child.py", "_command.py", "_expression.py", "_graph.py", "_protocol.py",
		"_smith.py", "_smtlib.py", "cadical_solve.py", "cvc5_unsat_proof.py", "flint_rref.py", "go_build_version.py",
		"graph_critical_group.py", "graph_properties.py", "smith_normal_form.py", "sympy_jacobian.py", "z3_satisfiability.py",
	}
	if diff := cmp.Diff(want, modules); diff != "" {
		t.Errorf("modules (-want +got):\n%s", diff)
	}
}

// embedded loads schemas from the embedded files and refuses every other address.
type embedded struct{}

func (embedded) Load(url string) (any, error) {
	name, ok := strings.CutPrefix(url, "builtin:///")
	if !ok {
		return nil, &fs.PathError{Op: "load", Path: url, Err: fs.ErrNotExist}
	}
	data, err := builtin.FS.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return jsonschema.UnmarshalJSON(bytes.NewReader(data))
}

func compile(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(embedded{})
	compiler.AssertFormat()
	schema, err := compiler.Compile("builtin:///providers/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// validate checks value, after a trip through JSON, against the schema.
func validate(t *testing.T, schema *jsonschema.Schema, value any) error {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return schema.Validate(plain)
}

func TestSchemas(t *testing.T) {
	var used []string
	for id, m := range manifests(t) {
		for _, c := range m.Capabilities {
			t.Run(id+"/"+c.ID, func(t *testing.T) {
				input, output := compile(t, c.InputSchema), compile(t, c.OutputSchema)
				if len(c.Examples) == 0 {
					t.Error("no example")
				}
				for _, example := range c.Examples {
					if err := validate(t, input, example.Input); err != nil {
						t.Errorf("example %s: %v", example.Name, err)
					}
					if err := validate(t, input, map[string]any{"another": 1}); err == nil {
						t.Error("the schema accepts an object of another shape")
					}
				}
				reproduction(t, m.Probes["reproduction"], c.ID, input, output)
			})
			used = append(used, "providers/"+c.InputSchema, "providers/"+c.OutputSchema)
		}
	}
	all, err := fs.Glob(builtin.FS, "providers/schemas/*.json")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(used)
	if diff := cmp.Diff(all, used); diff != "" {
		t.Errorf("schema files and their use differ (-files +used):\n%s", diff)
	}
}

// reproduction checks that the request and the expected answer are what the schemas allow.
func reproduction(t *testing.T, c command, id string, input, output *jsonschema.Schema) {
	t.Helper()
	var request struct {
		Protocol     string
		CapabilityID string `json:"capability_id"`
		Mode         string
		Input        map[string]any
	}
	if err := json.Unmarshal([]byte(c.Stdin), &request); err != nil {
		t.Fatalf("request: %v", err)
	}
	if request.Protocol != "provider-measure.worker/1" || request.CapabilityID != id || request.Mode != "EXPLORE" {
		t.Errorf("request is for %q %q %q", request.Protocol, request.CapabilityID, request.Mode)
	}
	if err := validate(t, input, request.Input); err != nil {
		t.Errorf("request: %v", err)
	}
	if c.Expect.Exit == nil || *c.Expect.Exit != 0 || c.Expect.Stdout.Equals == nil || c.Expect.Stderr.Equals == nil {
		t.Fatal("the expected answer is not pinned whole")
	}
	var answer struct {
		Protocol string
		Output   map[string]any
	}
	if err := json.Unmarshal([]byte(*c.Expect.Stdout.Equals), &answer); err != nil {
		t.Fatalf("answer: %v", err)
	}
	if err := validate(t, output, answer.Output); err != nil {
		t.Errorf("answer: %v", err)
	}
}

// TestNoFloats: descriptors are canonical JSON, which has no place for them.
func TestNoFloats(t *testing.T) {
	names, err := fs.Glob(builtin.FS, "providers/schemas/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		data, err := builtin.FS.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		decoder := json.NewDecoder(bytes.NewReader(data))
		decoder.UseNumber()
		for {
			token, err := decoder.Token()
			if err != nil {
				break
			}
			if number, ok := token.(json.Number); ok && !whole(string(number)) {
				t.Errorf("%s: %s is not a whole number", name, number)
			}
		}
	}
	for id, m := range manifests(t) {
		for _, c := range m.Capabilities {
			for _, example := range c.Examples {
				noFloat(t, id+" "+example.Name, example.Input)
			}
		}
	}
}

func whole(number string) bool {
	return regexp.MustCompile(`^-?[0-9]{1,16}$`).MatchString(number)
}

func noFloat(t *testing.T, where string, value any) {
	t.Helper()
	switch value := value.(type) {
	case float64:
		t.Errorf("%s holds the float %v", where, value)
	case map[string]any:
		for _, item := range value {
			noFloat(t, where, item)
		}
	case []any:
		for _, item := range value {
			noFloat(t, where, item)
		}
	}
}
