package schemagen

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/opencontainers/go-digest"
	validator "github.com/santhosh-tekuri/jsonschema/v6"
)

type row struct {
	Name  *string        `json:"name"`
	Kinds []string       `json:"kinds"`
	Raw   jsontext.Value `json:"raw"`
}

type document struct {
	Digest digest.Digest     `json:"digest"`
	Rows   []row             `json:"rows"`
	Pins   map[string]string `json:"pins,omitempty"`
	Size   int64             `json:"size"`
	Other  float64           `json:"other"`
}

func made(t *testing.T) *jsonschema.Schema {
	t.Helper()
	s, err := For[document]("test", "Test", map[reflect.Type]*jsonschema.Schema{reflect.TypeFor[float64](): {Type: "null"}})
	if err != nil {
		t.Fatal(err)
	}
	err = Apply(s, []Rule{
		{"rows.[].name", Enum("a", "b")},
		{"rows.[].kinds", Set(2)},
		{"rows.[].kinds.[]", Text(1, 3, "^[a-z]+$")},
		{"rows.[].raw", Object},
		{"pins", Names("^linux")},
		{"pins.*", Text(2, 0, "")},
		{"size", Range(0, 10)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSchema(t *testing.T) {
	s := made(t)
	if s.Schema != Dialect || s.Title != "Test" || s.ID != "urn:provider-measure:schema:test" {
		t.Errorf("head %+v", s)
	}
	data, err := Print(s)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Print(made(t))
	if err != nil || !bytes.Equal(data, again) || data[len(data)-1] != '\n' {
		t.Errorf("prints otherwise the second time: %v", err)
	}
	doc, err := validator.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	c := validator.NewCompiler()
	if err := c.AddResource("s.json", doc); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("s.json")
	if err != nil {
		t.Fatal(err)
	}
	good := `{"digest":"sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","rows":[{"name":null,"kinds":["ab"],"raw":{"x":1}}],"pins":{"linux-x":"abc"},"size":10,"other":null}`
	for _, tt := range []struct{ name, old, new string }{
		{"good", "", ""},
		{"digest", "sha256:a", "sha256:A"},
		{"name", `"name":null`, `"name":"c"`},
		{"too many", `["ab"]`, `["a","b","c"]`},
		{"twice", `["ab"]`, `["a","a"]`},
		{"null list", `["ab"]`, `null`},
		{"long", `["ab"]`, `["abcd"]`},
		{"empty", `["ab"]`, `[""]`},
		{"pattern", `["ab"]`, `["A"]`},
		{"not an object", `{"x":1}`, `[]`},
		{"key of a map", "linux-x", "macos"},
		{"value of a map", `"abc"`, `"a"`},
		{"large", `"size":10`, `"size":11`},
		{"given type", `"other":null`, `"other":1`},
		{"unknown key", `"size":10`, `"size":10,"x":1`},
		{"missing key", `"size":10,`, ``},
	} {
		text := good
		if tt.old != "" {
			text = string(bytes.Replace([]byte(good), []byte(tt.old), []byte(tt.new), 1))
			if text == good {
				t.Fatalf("%s changes nothing", tt.name)
			}
		}
		v, err := validator.UnmarshalJSON(bytes.NewReader([]byte(text)))
		if err != nil {
			t.Fatal(err)
		}
		if err := compiled.Validate(v); (err == nil) != (tt.old == "") {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// A rule for a key that was renamed fails, and is not dropped.
func TestAtMissing(t *testing.T) {
	for _, path := range []string{"none", "rows.name", "rows.[].none", "size.[]", "digest.*"} {
		if err := Apply(made(t), []Rule{{path, Object}}); err == nil {
			t.Errorf("%s is there", path)
		}
	}
	if at, err := At(made(t)); err != nil || at.Title != "Test" {
		t.Errorf("the root: %v", err)
	}
	if _, err := For[func()]("x", "X", nil); err == nil {
		t.Error("a function has a schema")
	}
}

func TestEnumKeepsNull(t *testing.T) {
	s := made(t)
	at, err := At(s, "rows", "[]", "name")
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(at.Enum)
	if diff := cmp.Diff(`["a","b",null]`, string(data)); diff != "" || err != nil {
		t.Error(diff, err)
	}
}
