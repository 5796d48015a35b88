package measure

import (
	"maps"
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/provider-measure/provider-measure/internal/schemagen"
	"github.com/provider-measure/provider-measure/probe"
	"github.com/provider-measure/provider-measure/provider"
)

// RecordSchema is the JSON Schema of a measurement record: its form, its bounds,
// and what each status needs. What a schema can't say, that medians and verdicts
// follow from the rest, is left to [Record.Validate].
func RecordSchema() (*jsonschema.Schema, error) {
	runtime, err := provider.RecordSchema()
	if err != nil {
		return nil, err
	}
	runtime.ID, runtime.Schema = "", "" // one document, one dialect
	s, err := schemagen.For[Record]("measurement-record", "Measurement record", map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[provider.Runtime](): runtime,
		reflect.TypeFor[probe.Outcome]():    {Type: "string", Enum: outcomes()},
	})
	if err != nil {
		return nil, err
	}
	s.Description = "What one provider on one host takes and costs. Times are seconds, sizes are bytes; a number that could not be obtained is null, with the reason beside it. It is never evidence that an answer is true."
	rules := slices.Concat(scalarRules(), environmentRules(), partRules(), seriesRules("cold_start"), seriesRules("reproduction_case"))
	return s, schemagen.Apply(s, rules)
}

func outcomes() []any {
	var names []any
	for o := probe.Unknown + 1; o.String() != probe.Unknown.String(); o++ {
		names = append(names, o.String())
	}
	return names
}

// list is an array that is never null.
func list(most int) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) { s.Type, s.Types, s.MaxItems = "array", nil, new(most) }
}

func text(path string, most int) schemagen.Rule {
	return schemagen.Rule{Path: path, Set: schemagen.Text(1, most, "")}
}

func whole(path string, least float64) schemagen.Rule {
	return schemagen.Rule{Path: path, Set: schemagen.Range(least, maxWhole)}
}

func timing(path string) schemagen.Rule {
	return schemagen.Rule{Path: path, Set: schemagen.Range(0, maxSeconds)}
}

func scalarRules() []schemagen.Rule {
	return []schemagen.Rule{
		{Path: "measurement_version", Set: schemagen.Enum(Version)},
		{Path: "provider_runtime.availability", Set: func(s *jsonschema.Schema) { s.Enum = []any{string(provider.Available)} }},
		{Path: "requirements", Set: list(maxRequirements)},
		{Path: "requirements.[].verdict", Set: schemagen.Enum("met", "unmet", "undecided")},
		whole("requirements.[].reported", 0),
		text("requirements.[].name", 64), text("requirements.[].says", 256), text("requirements.[].check", 256),
		text("requirements.[].reason", maxDetail),
	}
}

func environmentRules() []schemagen.Rule {
	return []schemagen.Rule{
		text("environment.kernel", maxDetail), text("environment.machine", maxDetail), text("environment.cpu_model", maxDetail),
		text("environment.governor", maxDetail), text("environment.virtualisation", maxDetail),
		whole("environment.cpu_count", 1), whole("environment.memory_bytes", 1),
		{Path: "environment.load.[]", Set: schemagen.Range(0, maxLoad)},
		text("environment.interpreter.executable", 4096), text("environment.interpreter.version", 128),
		text("environment.unknown.*", maxDetail),
		{Path: "environment", Set: valueOrReason},
	}
}

// valueOrReason makes each fact null exactly when unknown has its key.
func valueOrReason(s *jsonschema.Schema) {
	for _, key := range slices.Sorted(maps.Keys(s.Properties)) {
		if key == "unknown" {
			continue
		}
		null := &jsonschema.Schema{Properties: map[string]*jsonschema.Schema{key: {Type: "null"}}}
		has := func() *jsonschema.Schema {
			return &jsonschema.Schema{Properties: map[string]*jsonschema.Schema{"unknown": {Required: []string{key}}}}
		}
		s.AllOf = append(s.AllOf, &jsonschema.Schema{If: null, Then: has(), Else: &jsonschema.Schema{Not: has()}})
	}
}

func partRules() []schemagen.Rule {
	const libs = "installed_size.shared_libraries"
	return []schemagen.Rule{
		{Path: "installed_size", Set: needs("bytes", "files")},
		{Path: "installed_size.status", Set: statuses},
		text("installed_size.detail", maxDetail), whole("installed_size.bytes", 0), whole("installed_size.files", 1),
		{Path: libs + ".missing", Set: list(maxLibraries)},
		whole(libs+".bytes", 0), whole(libs+".files", 0), text(libs+".interpreter", 4096), text(libs+".detail", maxDetail),
		{Path: "cold_install", Set: needs("seconds", "installed_bytes", "installer")},
		{Path: "cold_install.status", Set: statuses},
		text("cold_install.detail", maxDetail), text("cold_install.installer", 128),
		timing("cold_install.seconds"), whole("cold_install.installed_bytes", 0),
	}
}

func statuses(s *jsonschema.Schema) {
	schemagen.Enum(string(Completed), string(Skipped), string(Failed))(s)
}

// needs gives COMPLETED its numbers and every other status a detail.
func needs(numbers ...string) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) {
		there := map[string]*jsonschema.Schema{}
		for _, key := range numbers {
			there[key] = &jsonschema.Schema{Not: &jsonschema.Schema{Type: "null"}}
		}
		s.If = &jsonschema.Schema{Properties: map[string]*jsonschema.Schema{"status": {Const: new(any(string(Completed)))}}}
		s.Then = &jsonschema.Schema{Properties: there}
		s.Else = &jsonschema.Schema{Properties: map[string]*jsonschema.Schema{"detail": {Type: "string"}}}
	}
}

func seriesRules(part string) []schemagen.Rule {
	sample := part + ".samples.[]"
	rules := []schemagen.Rule{
		{Path: part, Set: needs("seconds", "output_bytes")},
		{Path: part + ".status", Set: statuses},
		{Path: part + ".samples", Set: list(MaxRuns)},
		{Path: sample, Set: needs("seconds", "output_bytes", "exit_code")},
		{Path: sample + ".status", Set: schemagen.Enum(string(Completed), string(Failed))},
		{Path: sample + ".exit_code", Set: schemagen.Range(0, 255)},
		whole(sample+".processes", 1),
		timing(sample + ".tree_rss_bytes.period_seconds"),
	}
	for _, at := range []string{part, sample} {
		rules = append(rules, text(at+".detail", maxDetail), whole(at+".output_bytes", 0),
			timing(at+".seconds"), timing(at+".user"), timing(at+".system"))
	}
	for _, at := range []string{part + ".peak_rss_bytes", sample + ".peak_rss_bytes", sample + ".tree_rss_bytes"} {
		rules = append(rules, whole(at+".bytes", 1), text(at+".method", maxDetail), text(at+".scope", maxDetail),
			schemagen.Rule{Path: at, Set: methodWithBytes})
	}
	return rules
}

// methodWithBytes says that a peak without its method is no figure.
func methodWithBytes(s *jsonschema.Schema) {
	s.If = &jsonschema.Schema{Properties: map[string]*jsonschema.Schema{"bytes": {Type: "null"}}}
	s.Else = &jsonschema.Schema{Properties: map[string]*jsonschema.Schema{"method": {Type: "string"}, "scope": {Type: "string"}}}
}
