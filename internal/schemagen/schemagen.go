// Package schemagen makes the published JSON Schemas from the Go types that read
// the documents, so that neither can say more than the other.
package schemagen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/opencontainers/go-digest"
)

// Dialect is the JSON Schema version of every published schema.
const Dialect = "https://json-schema.org/draft/2020-12/schema"

// For infers the schema of T and gives it a title, a URN as its ID, and the
// dialect. A raw JSON value becomes a schema that accepts anything. types adds
// the schemas of types that are more than they look.
func For[T any](name, title string, types map[reflect.Type]*jsonschema.Schema) (*jsonschema.Schema, error) {
	all := map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[jsontext.Value](): {},
		reflect.TypeFor[digest.Digest]():  {Type: "string", Pattern: `^sha256:[0-9a-f]{64}$`},
	}
	for t, s := range types {
		all[t] = s
	}
	s, err := jsonschema.For[T](&jsonschema.ForOptions{TypeSchemas: all})
	if err != nil {
		return nil, fmt.Errorf("schema of %s: %w", name, err)
	}
	s.Schema, s.Title = Dialect, title
	s.ID = "urn:provider-measure:schema:" + name
	return s, nil
}

// At finds the schema at a path of property names, where "[]" steps into the
// items of an array and "*" into the values of a map. It fails for a path that
// is not there, so that a constraint can't be put on a key that was renamed.
func At(s *jsonschema.Schema, path ...string) (*jsonschema.Schema, error) {
	at := s
	for i, name := range path {
		var next *jsonschema.Schema
		switch name {
		case "[]":
			next = at.Items
		case "*":
			next = at.AdditionalProperties
		default:
			next = at.Properties[name]
		}
		if next == nil {
			return nil, fmt.Errorf("no schema at %s", strings.Join(path[:i+1], "."))
		}
		at = next
	}
	return at, nil
}

// Rule puts constraints on the schema at a dotted path.
type Rule struct {
	Path string // as At takes it, joined by dots
	Set  func(*jsonschema.Schema)
}

// Apply applies rules.
func Apply(s *jsonschema.Schema, rules []Rule) error {
	for _, r := range rules {
		at, err := At(s, strings.Split(r.Path, ".")...)
		if err != nil {
			return err
		}
		r.Set(at)
	}
	return nil
}

// Enum allows only the given strings, and null where the type does.
func Enum(values ...string) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) {
		for _, v := range values {
			s.Enum = append(s.Enum, v)
		}
		if nullable(s) {
			s.Enum = append(s.Enum, nil)
		}
	}
}

// Text bounds a string's length in characters, most 0 being no bound, and gives
// it a pattern, if not empty.
func Text(least, most int, pattern string) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) {
		s.MinLength, s.Pattern = &least, pattern
		if most > 0 {
			s.MaxLength = &most
		}
	}
}

// Names gives the keys of a map a pattern.
func Names(pattern string) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) { s.PropertyNames = &jsonschema.Schema{Pattern: pattern} }
}

// Set makes an array's items unique and bounds their number; most 0 is no bound.
func Set(most int) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) {
		s.UniqueItems = true
		if most > 0 {
			s.MaxItems = &most
		}
		// Lists are never null.
		if nullable(s) {
			s.Type, s.Types = "array", nil
		}
	}
}

// Range bounds a number.
func Range(least, most float64) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) { s.Minimum, s.Maximum = &least, &most }
}

// Object makes a schema an object of any members.
func Object(s *jsonschema.Schema) { s.Type = "object" }

func nullable(s *jsonschema.Schema) bool {
	for _, t := range s.Types {
		if t == "null" {
			return true
		}
	}
	return false
}

// Print gives a schema the form in which it is published: indented by two
// spaces, with a newline at the end, the same on each run.
func Print(s *jsonschema.Schema) ([]byte, error) {
	data, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, data, "", "  "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}
