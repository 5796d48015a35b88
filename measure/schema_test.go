package measure

import (
	"bytes"
	"strings"
	"testing"

	validator "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/provider-measure/provider-measure/internal/schemagen"
)

// compileSchema reads the schema with an implementation by others.
func compileSchema(t testing.TB) *validator.Schema {
	t.Helper()
	s, err := RecordSchema()
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

func validateSchema(t testing.TB, data []byte) error {
	t.Helper()
	doc, err := validator.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return compileSchema(t).Validate(doc)
}

// What the schema refuses, the parser refuses too; it need not be the other way
// round.
func TestSchemaRefuses(t *testing.T) {
	data := string(checkRecord(t, sampleRecord(t)))
	for _, tt := range []struct{ name, from, to string }{
		{"completed without bytes", `"bytes":42,"files":2`, `"bytes":null,"files":2`},
		{"skipped without detail", `"detail":"measure.not_asked_for: not asked for"`, `"detail":null`},
		{"other version", `"measurement_version":"3"`, `"measurement_version":"2"`},
		{"status", `"status":"SKIPPED"`, `"status":"DONE"`},
		{"unknown key", `"requirements":`, `"extra":1,"requirements":`},
		{"missing key", `"measurement_version":"3",`, ``},
		{"fact without reason", `"governor":"the kernel`, `"gov":"the kernel`},
		{"reason beside fact", `"unknown":{`, `"unknown":{"machine":"none",`},
		{"verdict", `"verdict":"met"`, `"verdict":"good"`},
		{"negative", `"output_bytes":7`, `"output_bytes":-7`},
		{"peak without method", `"method":"VmHWM"`, `"method":null`},
		{"zero peak", `"bytes":1000`, `"bytes":0`},
		{"outcome", `"outcome":"EXITED"`, `"outcome":"UNKNOWN"`},
		{"unavailable", `"availability":"AVAILABLE"`, `"availability":"UNAVAILABLE"`},
		{"list", `"missing":[]`, `"missing":null`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			changed := strings.Replace(data, tt.from, tt.to, 1)
			if changed == data {
				t.Fatalf("the record has no %s:\n%s", tt.from, data)
			}
			if err := validateSchema(t, []byte(changed)); err == nil {
				t.Error("the schema accepts it")
			}
			if _, err := ParseRecord([]byte(changed)); err == nil {
				t.Error("the parser accepts it")
			}
		})
	}
}
