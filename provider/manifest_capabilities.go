package provider

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/provider-measure/provider-measure/internal/canonjson"
)

// maxSchema bounds a schema file, which is read whole.
const maxSchema = 1 << 20

func (p *manifestParser) capabilities() []Capability {
	if len(p.file.Capabilities) > 256 {
		p.refuse(ReasonManifestRange, "capabilities", "has %d entries, at most 256", len(p.file.Capabilities))
	}
	var out []Capability
	seen := map[string]bool{}
	for i, t := range p.file.Capabilities {
		key := fmt.Sprintf("capabilities.%d", i)
		out = append(out, p.capability(key, t))
		if seen[t.ID] {
			p.refuse(ReasonManifestDuplicate, key+".id", "%q is declared twice", t.ID)
		}
		seen[t.ID] = true
	}
	return out
}

func (p *manifestParser) capability(key string, t capabilityTable) Capability {
	c := Capability{
		ID: t.ID, Version: t.Version, Title: t.Title, Description: t.Description, ReadOnly: t.ReadOnly,
		Tags: list(t.Tags), InputKinds: list(t.InputKinds), ArtifactTypes: list(t.ArtifactTypes),
	}
	if p.require(key+".id", t.ID) && !ValidCapabilityID(t.ID) {
		p.refuse(ReasonManifestInvalid, key+".id", "%q does not match %s with 3 to 128 characters", t.ID, capabilityPattern)
	}
	p.requireText(key+".version", t.Version, 64)
	p.requireText(key+".title", t.Title, 128)
	p.requireText(key+".description", t.Description, 512)
	p.invalid(key+".tags", checkUnique("tags", t.Tags, 64, func(s string) error { return checkLength("tag", s, 1, 64) }))
	c.Modes = p.modes(key+".modes", t.Modes)
	p.inputKinds(key, &c)
	c.InputSchema = p.schema(key+".input_schema", t.InputSchema)
	c.OutputSchema = p.schema(key+".output_schema", t.OutputSchema)
	if len(t.Examples) > 64 {
		p.refuse(ReasonManifestRange, key+".examples", "has %d entries, at most 64", len(t.Examples))
	}
	seen := map[string]bool{}
	for i, e := range t.Examples {
		exampleKey := fmt.Sprintf("%s.examples.%d", key, i)
		c.Examples = append(c.Examples, p.example(exampleKey, e, c.Modes))
		if seen[e.Name] {
			p.refuse(ReasonManifestDuplicate, exampleKey+".name", "%q is declared twice", e.Name)
		}
		seen[e.Name] = true
	}
	return c
}

func (p *manifestParser) modes(key string, names []string) []Mode {
	if len(names) == 0 {
		return []Mode{Explore}
	}
	p.invalid(key, checkUnique("modes", names, 2, func(s string) error {
		if s != string(Explore) && s != string(Verify) {
			return fmt.Errorf("%q is neither EXPLORE nor VERIFY", s)
		}
		return nil
	}))
	var out []Mode
	for _, s := range names {
		out = append(out, Mode(s))
	}
	return out
}

func (p *manifestParser) inputKinds(key string, c *Capability) {
	if len(c.InputKinds) == 0 {
		c.InputKinds = []string{"STRUCTURED_REQUEST"}
	}
	takesArtifacts := false
	p.invalid(key+".accepted_input_kinds", checkUnique("accepted_input_kinds", c.InputKinds, 8, func(s string) error {
		switch s {
		case "TYPED_ARTIFACT":
			takesArtifacts = true
		case "STRUCTURED_REQUEST", "FORMAL_PROPOSITION", "NATURAL_LANGUAGE_PROOF":
		default:
			return fmt.Errorf("%q is not an input kind", s)
		}
		return nil
	}))
	p.invalid(key+".accepted_artifact_types", checkUnique("accepted_artifact_types", c.ArtifactTypes, 64, func(s string) error {
		return checkLength("artifact type", s, 1, 128)
	}))
	if takesArtifacts != (len(c.ArtifactTypes) > 0) {
		p.refuse(ReasonManifestInvalid, key+".accepted_artifact_types", "is needed exactly when TYPED_ARTIFACT is an accepted input kind")
	}
}

// schema reads a schema file beside the manifest. That it is a valid JSON Schema
// is checked when the capability is registered.
func (p *manifestParser) schema(key, name string) jsontext.Value {
	if !p.require(key, name) {
		return nil
	}
	if !fs.ValidPath(name) || name == "." {
		p.refuse(ReasonManifestInvalid, key, "%q is not a plain path below the manifest's folder", name)
		return nil
	}
	if p.source.FS == nil {
		p.refuse(ReasonManifestSchema, key, "%s: the manifest has no folder to read it from", name)
		return nil
	}
	data, err := readSmallFile(p.source.FS, name, maxSchema)
	if err != nil {
		p.refuse(ReasonManifestSchema, key, "%w", err)
		return nil
	}
	canonical, err := canonjson.Canonicalize(data)
	if err != nil {
		p.refuse(ReasonManifestSchema, key, "%s: %w", name, err)
		return nil
	}
	if !strings.HasPrefix(string(canonical), "{") {
		p.refuse(ReasonManifestSchema, key, "%s is not a JSON object", path.Base(name))
	}
	p.schemaFiles = append(p.schemaFiles, name)
	return canonical
}

func (p *manifestParser) example(key string, t exampleTable, modes []Mode) Example {
	e := Example{Name: t.Name, Description: t.Description, Mode: Mode(t.Mode)}
	if e.Mode == "" {
		e.Mode = modes[0]
	}
	if p.require(key+".name", t.Name) && (!matches(namePattern, t.Name) || len(t.Name) > 64) {
		p.refuse(ReasonManifestInvalid, key+".name", "%q does not match %s with at most 64 characters", t.Name, namePattern)
	}
	p.requireText(key+".description", t.Description, 256)
	if !slices.Contains(modes, e.Mode) {
		p.refuse(ReasonManifestInvalid, key+".mode", "%q is not a mode of the capability", t.Mode)
	}
	if t.Input == nil {
		p.refuse(ReasonManifestMissing, key+".input", "is required")
		return e
	}
	if _, ok := t.Input.(map[string]any); !ok {
		p.refuse(ReasonManifestInvalid, key+".input", "is not a table")
	}
	canonical, err := canonjson.Marshal(tomlValue(t.Input))
	p.invalid(key+".input", err)
	e.Input = canonical
	return e
}
