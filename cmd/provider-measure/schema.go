package main

import (
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/urfave/cli/v2"

	"github.com/provider-measure/provider-measure/catalog"
	"github.com/provider-measure/provider-measure/internal/schemagen"
	"github.com/provider-measure/provider-measure/measure"
	"github.com/provider-measure/provider-measure/provider"
)

func (s *session) schemaCommand() *cli.Command {
	return &cli.Command{
		Name:      "schema",
		Usage:     "print a JSON Schema of a document that this program reads or writes",
		ArgsUsage: "NAME",
		Description: "The names are: " + strings.Join(schemaNames(), ", ") + ".\n" +
			"Without a name, the names are listed.",
		Action: s.schema,
	}
}

// schemaNames lists the published schemas in the order of docs/schemas.
func schemaNames() []string {
	return []string{"capability-descriptor", "catalog", "manifest", "measurement-record", "runtime-record"}
}

func schemaOf(name string) (*jsonschema.Schema, error) {
	switch name {
	case "capability-descriptor":
		return catalog.DescriptorSchema()
	case "catalog":
		return catalog.CatalogSchema()
	case "manifest":
		return provider.ManifestSchema()
	case "measurement-record":
		return measure.RecordSchema()
	case "runtime-record":
		return provider.RecordSchema()
	}
	return nil, unknownName(codeUnknownSchema, "schema", name, schemaNames())
}

func (s *session) schema(c *cli.Context) error {
	if err := s.checkFormat(c); err != nil {
		return err
	}
	switch c.NArg() {
	case 0:
		return s.print(schemaNames(), func(b *strings.Builder) { b.WriteString(strings.Join(schemaNames(), "\n") + "\n") })
	case 1:
	default:
		return usage("schema takes one name, got %d", c.NArg())
	}
	schema, err := schemaOf(c.Args().First())
	if err != nil {
		return err
	}
	// A schema is JSON in either format: it is what a person pipes to a validator.
	data, err := schemagen.Print(schema)
	if err != nil {
		return err
	}
	return s.write(data)
}
