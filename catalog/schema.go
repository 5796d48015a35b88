package catalog

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

const (
	dialect2020 = "https://json-schema.org/draft/2020-12/schema"
	// schemaBase is what relative references are resolved against. Nothing can be
	// loaded from it.
	schemaBase = "capability:///schema"
	// maxCauses bounds how many of an instance's faults a message lists.
	maxCauses = 3
)

// compileSchema compiles a JSON Schema 2020-12. Formats are asserted, patterns
// are Go's regular expressions (RE2), so that no pattern takes more than linear
// time and a pattern with look-around or back-references is invalid.
//
// Only the schema itself and the published metaschemas, which are compiled in,
// can be referred to: anything else is [CodeSchemaReference], and neither the
// network nor a file is touched.
func compileSchema(schema []byte) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, err
	}
	if err := checkDialect(schema); err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	c.UseLoader(noLoader{})
	if err := c.AddResource(schemaBase, doc); err != nil {
		return nil, err
	}
	compiled, err := c.Compile(schemaBase)
	if err != nil {
		return nil, schemaError(err)
	}
	return compiled, nil
}

// checkDialect refuses a schema that says it is written for another draft.
func checkDialect(schema []byte) error {
	var root struct {
		Dialect *string `json:"$schema"`
	}
	if err := json.Unmarshal(schema, &root); err != nil {
		return err
	}
	if root.Dialect != nil && strings.TrimSuffix(*root.Dialect, "#") != dialect2020 {
		return fmt.Errorf("$schema is %q, want %s", *root.Dialect, dialect2020)
	}
	return nil
}

// noLoader refuses every document that is not compiled in.
type noLoader struct{}

// Load always fails.
func (noLoader) Load(url string) (any, error) {
	return nil, &Error{
		Code: CodeSchemaReference, Op: "load schema", Path: url,
		Message: "a schema may only refer to itself", Hint: "put what is referred to under $defs",
	}
}

// schemaError puts the library's report on one line, and our own refusal of a
// reference where errors.Is finds it.
func schemaError(err error) error {
	var load *jsonschema.LoadURLError
	if errors.As(err, &load) {
		return load.Err
	}
	var invalid *jsonschema.SchemaValidationError
	if errors.As(err, &invalid) {
		if _, text := instanceFaults(invalid.Err); text != "" {
			return errors.New(text)
		}
	}
	return err
}

// validateInstance returns where the instance breaks the schema and how; the
// error is nil when it doesn't.
func validateInstance(schema *jsonschema.Schema, instance []byte) (path string, err error) {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(instance))
	if err != nil {
		return "", err
	}
	err = schema.Validate(value)
	if err == nil {
		return "", nil
	}
	path, text := instanceFaults(err)
	if text == "" {
		return "", err
	}
	return path, errors.New(text)
}

// instanceFaults lists the innermost faults of a validation on one line, and the
// pointer of the first.
func instanceFaults(err error) (path, text string) {
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return "", ""
	}
	printer := message.NewPrinter(language.English)
	var texts []string
	var walk func(e *jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		for _, cause := range e.Causes {
			walk(cause)
		}
		if len(e.Causes) > 0 {
			return
		}
		at := pointer(e.InstanceLocation)
		if len(texts) == 0 {
			path = at
		}
		texts = append(texts, fmt.Sprintf("at %q: %s", at, e.ErrorKind.LocalizedString(printer)))
	}
	walk(invalid)
	if more := len(texts) - maxCauses; more > 0 {
		texts = append(texts[:maxCauses], fmt.Sprintf("and %d more", more))
	}
	return path, strings.Join(texts, "; ")
}

func pointer(tokens []string) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(t))
	}
	return b.String()
}
