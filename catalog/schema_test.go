package catalog

import (
	"testing"

	"github.com/provider-measure/provider-measure/internal/canonjson"
)

// Whatever an operator writes as a schema and an input, the library that
// compiles them answers: it neither panics nor runs for ever.
func FuzzSchema(f *testing.F) {
	for _, s := range [][2]string{
		{`{"type":"object","required":["n"]}`, `{}`},
		{`{"$ref":"#/$defs/a","$defs":{"a":{"properties":{"n":{"$ref":"#/$defs/a"}}}}}`, `{"n":{"n":{}}}`},
		{`{"$dynamicAnchor":"x","items":{"$dynamicRef":"#x"},"unevaluatedItems":false}`, `[[1]]`},
		{`{"$id":"a/","$defs":{"b":{"$id":"b","$anchor":"c"}},"$ref":"b#c"}`, `1`},
		{`{"allOf":[{"$ref":"#"}]}`, `1`},
		{`{"if":{"pattern":"^(a+)+$"},"then":{"format":"idn-email"},"dependentSchemas":{"a":{"minProperties":2}}}`, `"aaaaaaaaaaaaaaaaaaaaaaaaaaaaab"`},
	} {
		if _, err := compileSchema([]byte(s[0])); err != nil {
			f.Fatalf("seed %s: %v", s[0], err)
		}
		f.Add([]byte(s[0]), []byte(s[1]))
	}
	f.Fuzz(func(t *testing.T, schema, instance []byte) {
		// Only canonical objects and values ever get that far.
		schema, err := canonjson.Canonicalize(schema)
		if err != nil || schema[0] != '{' {
			return
		}
		instance, err = canonjson.Canonicalize(instance)
		if err != nil {
			return
		}
		compiled, err := compileSchema(schema)
		if err != nil {
			if compiled != nil || err.Error() == "" {
				t.Fatalf("%v, %v", compiled, err)
			}
			return
		}
		path, err := validateInstance(compiled, instance)
		if err == nil && path != "" {
			t.Fatalf("valid, and wrong at %q", path)
		}
	})
}
