package measure

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/provider-measure/provider-measure/probe"
	"github.com/provider-measure/provider-measure/provider"
)

// RecordSchema is the JSON Schema (2020-12) of a record: its form, its bounds,
// and what each status needs. What a schema can't say, that medians and verdicts
// follow from the rest, is left to [Record.Validate].
func RecordSchema() (*jsonschema.Schema, error) {
	runtime, err := runtimeSchema()
	if err != nil {
		return nil, err
	}
	s, err := jsonschema.For[Record](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[provider.Runtime](): runtime,
		reflect.TypeFor[probe.Outcome]():    {Type: "string", Enum: outcomes()},
	}})
	if err != nil {
		return nil, err
	}
	s.Schema = "https://json-schema.org/draft/2020-12/schema"
	s.Title = "provider-measure measurement record"
	p := &patcher{root: s}
	p.scalars()
	p.environment()
	p.parts()
	p.samples()
	return s, p.err
}

func outcomes() []any {
	var names []any
	for o := probe.Unknown + 1; o.String() != probe.Unknown.String(); o++ {
		names = append(names, o.String())
	}
	return names
}

// runtimeSchema is the form of the runtime identity record; its own package
// publishes the rules.
func runtimeSchema() (*jsonschema.Schema, error) {
	s, err := jsonschema.For[provider.Record](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[jsontext.Value](): {Type: "object"},
	}})
	if err != nil {
		return nil, err
	}
	p := &patcher{root: s}
	for _, list := range []string{"license_files", "features", "checker_ids", "distribution_required_attributes"} {
		p.list(list)
	}
	p.do(func(s *jsonschema.Schema) { s.Enum = []any{string(provider.Available)} }, "availability")
	return s, p.err
}

// patcher changes members of an inferred schema. A member that is not there is
// an error, so that a renamed field can't lose its rules.
type patcher struct {
	root *jsonschema.Schema
	err  error
}

// do applies change to the member that the path leads to; "[]" enters a list.
func (p *patcher) do(change func(*jsonschema.Schema), path ...string) {
	s := p.root
	for _, name := range path {
		if name == "[]" {
			s = s.Items
		} else {
			s = s.Properties[name]
		}
		if s == nil {
			p.err = errors.Join(p.err, fmt.Errorf("the schema has no %v", path))
			return
		}
	}
	change(s)
}

func (p *patcher) list(path ...string) {
	p.do(func(s *jsonschema.Schema) { s.Types, s.Type = nil, "array" }, path...)
}

func (p *patcher) text(most int, path ...string) {
	p.do(func(s *jsonschema.Schema) { s.MinLength, s.MaxLength = new(1), new(most) }, path...)
}

func (p *patcher) number(least, most float64, path ...string) {
	p.do(func(s *jsonschema.Schema) { s.Minimum, s.Maximum = new(least), new(most) }, path...)
}

func (p *patcher) enum(values []any, path ...string) {
	p.do(func(s *jsonschema.Schema) { s.Enum = values }, path...)
}

func (p *patcher) scalars() {
	p.enum([]any{Version}, "measurement_version")
	p.do(func(s *jsonschema.Schema) { s.Pattern = `^sha256:[0-9a-f]{64}$` }, "probe_contract")
	p.list("requirements")
	p.do(func(s *jsonschema.Schema) { s.MaxItems = new(maxRequirements) }, "requirements")
	p.enum([]any{"met", "unmet", "undecided"}, "requirements", "[]", "verdict")
	p.number(0, maxWhole, "requirements", "[]", "reported")
	p.text(64, "requirements", "[]", "name")
	p.text(256, "requirements", "[]", "says")
	p.text(256, "requirements", "[]", "check")
	p.text(maxDetail, "requirements", "[]", "reason")
}

func (p *patcher) environment() {
	for _, key := range []string{"kernel", "machine", "cpu_model", "governor", "virtualisation"} {
		p.text(maxDetail, "environment", key)
	}
	p.number(1, maxWhole, "environment", "cpu_count")
	p.number(1, maxWhole, "environment", "memory_bytes")
	p.number(0, 1e9, "environment", "load", "[]")
	p.text(4096, "environment", "interpreter", "executable")
	p.text(128, "environment", "interpreter", "version")
	p.do(func(s *jsonschema.Schema) {
		s.AdditionalProperties.MinLength, s.AdditionalProperties.MaxLength = new(1), new(maxDetail)
	}, "environment", "unknown")
	// Each fact is null exactly when unknown has its key.
	p.do(func(s *jsonschema.Schema) {
		for _, key := range slices.Sorted(maps.Keys(s.Properties)) {
			if key == "unknown" {
				continue
			}
			null := &jsonschema.Schema{Properties: map[string]*jsonschema.Schema{key: {Type: "null"}}}
			has := &jsonschema.Schema{Properties: map[string]*jsonschema.Schema{"unknown": {Required: []string{key}}}}
			s.AllOf = append(s.AllOf, &jsonschema.Schema{If: null, Then: has, Else: &jsonschema.Schema{Not: has}})
		}
	}, "environment")
}

func (p *patcher) parts() {
	p.status([]string{"bytes", "files"}, "installed_size")
	p.number(0, maxWhole, "installed_size", "bytes")
	p.number(1, maxWhole, "installed_size", "files")
	p.list("installed_size", "shared_libraries", "missing")
	p.number(0, maxWhole, "installed_size", "shared_libraries", "bytes")
	p.number(0, maxWhole, "installed_size", "shared_libraries", "files")
	p.text(4096, "installed_size", "shared_libraries", "interpreter")
	p.text(maxDetail, "installed_size", "shared_libraries", "detail")
	p.status([]string{"seconds", "installed_bytes", "installer"}, "cold_install")
	p.number(0, maxSeconds, "cold_install", "seconds")
	p.number(0, maxWhole, "cold_install", "installed_bytes")
	p.text(128, "cold_install", "installer")
}

// status says what each status of a part needs.
func (p *patcher) status(numbers []string, path ...string) {
	p.enum([]any{string(Completed), string(Skipped), string(Failed)}, append(path, "status")...)
	p.text(maxDetail, append(path, "detail")...)
	p.do(func(s *jsonschema.Schema) {
		completed := &jsonschema.Schema{Properties: map[string]*jsonschema.Schema{"status": {Const: new(any(string(Completed)))}}}
		there := &jsonschema.Schema{Properties: map[string]*jsonschema.Schema{}}
		for _, key := range numbers {
			there.Properties[key] = &jsonschema.Schema{Not: &jsonschema.Schema{Type: "null"}}
		}
		why := &jsonschema.Schema{Properties: map[string]*jsonschema.Schema{"detail": {Type: "string"}}}
		s.If, s.Then, s.Else = completed, there, why
	}, path...)
}

func (p *patcher) samples() {
	for _, part := range []string{"cold_start", "reproduction_case"} {
		p.status([]string{"seconds", "output_bytes"}, part)
		p.list(part, "samples")
		p.do(func(s *jsonschema.Schema) { s.MaxItems = new(MaxRuns) }, part, "samples")
		p.status([]string{"seconds", "output_bytes"}, part, "samples", "[]")
		p.enum([]any{string(Completed), string(Failed)}, part, "samples", "[]", "status")
		p.number(0, 255, part, "samples", "[]", "exit_code")
		p.number(1, maxWhole, part, "samples", "[]", "processes")
		p.figures(part)
		p.figures(part, "samples", "[]")
		p.number(1, maxWhole, part, "samples", "[]", "tree_rss_bytes", "bytes")
		p.text(maxDetail, part, "samples", "[]", "tree_rss_bytes", "method")
		p.text(maxDetail, part, "samples", "[]", "tree_rss_bytes", "scope")
		p.number(0, maxSeconds, part, "samples", "[]", "tree_rss_bytes", "period_seconds")
	}
}

// figures bounds what a series and a sample share.
func (p *patcher) figures(path ...string) {
	at := func(more ...string) []string { return append(append([]string{}, path...), more...) }
	for _, key := range []string{"seconds", "user", "system"} {
		p.number(0, maxSeconds, at(key)...)
	}
	p.number(0, maxWhole, at("output_bytes")...)
	p.number(1, maxWhole, at("peak_rss_bytes", "bytes")...)
	p.text(maxDetail, at("peak_rss_bytes", "method")...)
	p.text(maxDetail, at("peak_rss_bytes", "scope")...)
}
