package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/provider-measure/provider-measure/internal/canonjson"
	"github.com/provider-measure/provider-measure/internal/strictjson"
	"github.com/provider-measure/provider-measure/provider"
)

func TestDescriptorRules(t *testing.T) {
	long := func(n int) string { return strings.Repeat("é", n) }
	type edit = func(*DescriptorRecord)
	examples := func(e ...Example) edit { return func(r *DescriptorRecord) { r.Examples = e } }
	example := Example{Name: "one", Description: "d", Input: jsontext.Value(`{"n":1}`), Mode: provider.Explore}
	changed := func(f func(*Example)) Example { e := example; f(&e); return e }
	tests := []struct {
		name string
		edit edit
		path string // "" is accepted
	}{
		{"as it is", func(*DescriptorRecord) {}, ""},
		{"other version", func(r *DescriptorRecord) { r.DescriptorVersion = "2" }, "/descriptor_version"},
		{"no separator in ID", func(r *DescriptorRecord) { r.CapabilityID = "graph" }, "/capability_id"},
		{"capital in ID", func(r *DescriptorRecord) { r.CapabilityID = "a.B" }, "/capability_id"},
		{"newline after ID", func(r *DescriptorRecord) { r.CapabilityID = "a.b\n" }, "/capability_id"},
		{"underscore separates", func(r *DescriptorRecord) { r.CapabilityID = "a_b" }, ""},
		{"128 in ID", func(r *DescriptorRecord) { r.CapabilityID = "a." + strings.Repeat("b", 126) }, ""},
		{"129 in ID", func(r *DescriptorRecord) { r.CapabilityID = "a." + strings.Repeat("b", 127) }, "/capability_id"},
		{"no version", func(r *DescriptorRecord) { r.Version = "" }, "/version"},
		{"64 in version", func(r *DescriptorRecord) { r.Version = long(64) }, ""},
		{"65 in version", func(r *DescriptorRecord) { r.Version = long(65) }, "/version"},
		{"no title", func(r *DescriptorRecord) { r.Title = "" }, "/title"},
		{"128 in title", func(r *DescriptorRecord) { r.Title = long(128) }, ""},
		{"129 in title", func(r *DescriptorRecord) { r.Title = long(129) }, "/title"},
		{"no description", func(r *DescriptorRecord) { r.Description = "" }, "/description"},
		{"512 in description", func(r *DescriptorRecord) { r.Description = long(512) }, ""},
		{"513 in description", func(r *DescriptorRecord) { r.Description = long(513) }, "/description"},
		{"invalid UTF-8", func(r *DescriptorRecord) { r.Title = "\xff" }, "?"},
		{"another provider", func(r *DescriptorRecord) { r.Provider = "other-tool" }, "/provider"},
		{"no runtime", func(r *DescriptorRecord) { r.ProviderRuntime = nil }, ""},
		{"zero runtime", func(r *DescriptorRecord) { r.ProviderRuntime = &provider.Runtime{} }, "/provider_runtime"},
		{"no provider", func(r *DescriptorRecord) { r.Provider, r.ProviderRuntime = "", nil }, "/provider"},
		{"no input schema", func(r *DescriptorRecord) { r.InputSchema = nil }, "/input_schema"},
		{"boolean input schema", func(r *DescriptorRecord) { r.InputSchema = jsontext.Value("true") }, "/input_schema"},
		{"list as output schema", func(r *DescriptorRecord) { r.OutputSchema = jsontext.Value("[]") }, "/output_schema"},
		{"float in a schema", func(r *DescriptorRecord) { r.OutputSchema = jsontext.Value(`{"multipleOf":0.5}`) }, "?"},
		{"repeated key in a schema", func(r *DescriptorRecord) { r.OutputSchema = jsontext.Value(`{"type":"object","type":"object"}`) }, "?"},
		{"blank tag", func(r *DescriptorRecord) { r.Tags = []string{"a", ""} }, "/tags/1"},
		{"no modes", func(r *DescriptorRecord) { r.Modes = nil }, "/modes"},
		{"unknown mode", func(r *DescriptorRecord) { r.Modes = []provider.Mode{"EXPLORE", "PROVE"} }, "/modes/1"},
		{"repeated mode", func(r *DescriptorRecord) { r.Modes = []provider.Mode{"EXPLORE", "EXPLORE"} }, "/modes/1"},
		{"both modes", func(r *DescriptorRecord) { r.Modes = []provider.Mode{"VERIFY", "EXPLORE"} }, ""},
		{"empty input kinds", func(r *DescriptorRecord) { r.InputKinds = []string{} }, "/accepted_input_kinds"},
		{"unknown input kind", func(r *DescriptorRecord) { r.InputKinds = []string{"TEXT"} }, "/accepted_input_kinds/0"},
		{"repeated input kind", func(r *DescriptorRecord) { r.InputKinds = []string{KindFormalProposition, KindFormalProposition} }, "/accepted_input_kinds/1"},
		{"all input kinds", func(r *DescriptorRecord) { r.InputKinds, r.ArtifactTypes = inputKinds(), []string{"proof"} }, ""},
		// Behaviour 45.
		{"artifact kind without types", func(r *DescriptorRecord) { r.InputKinds = []string{KindTypedArtifact} }, "/accepted_artifact_types"},
		{"types without artifact kind", func(r *DescriptorRecord) { r.ArtifactTypes = []string{"proof"} }, "/accepted_artifact_types"},
		{"repeated artifact type", func(r *DescriptorRecord) {
			r.InputKinds, r.ArtifactTypes = []string{KindTypedArtifact}, []string{"proof", "proof"}
		}, "/accepted_artifact_types/1"},
		{"blank artifact type", func(r *DescriptorRecord) {
			r.InputKinds, r.ArtifactTypes = []string{KindTypedArtifact}, []string{""}
		}, "/accepted_artifact_types/0"},
		{"no examples", examples(), ""},
		{"name of an example", examples(changed(func(e *Example) { e.Name = "One" })), "/invocation_examples/0/name"},
		{"newline after a name", examples(changed(func(e *Example) { e.Name = "one\n" })), "/invocation_examples/0/name"},
		{"64 in a name", examples(changed(func(e *Example) { e.Name = strings.Repeat("a", 64) })), ""},
		{"65 in a name", examples(changed(func(e *Example) { e.Name = strings.Repeat("a", 65) })), "/invocation_examples/0/name"},
		{"repeated name", examples(example, example), "/invocation_examples/1/name"},
		{"no description of an example", examples(changed(func(e *Example) { e.Description = "" })), "/invocation_examples/0/description"},
		{"256 in a description", examples(changed(func(e *Example) { e.Description = long(256) })), ""},
		{"257 in a description", examples(changed(func(e *Example) { e.Description = long(257) })), "/invocation_examples/0/description"},
		{"no input", examples(changed(func(e *Example) { e.Input = nil })), "/invocation_examples/0/input"},
		{"null input", examples(changed(func(e *Example) { e.Input = jsontext.Value("null") })), ""},
		{"float in an input", examples(changed(func(e *Example) { e.Input = jsontext.Value(`{"n":1.5}`) })), "?"},
		{"mode that is not offered", examples(changed(func(e *Example) { e.Mode = provider.Verify })), "/invocation_examples/0/mode"},
		// In a catalog it stands two levels deeper.
		{"62 deep in all", func(r *DescriptorRecord) { r.OutputSchema = nested(61) }, ""},
		{"63 deep in all", func(r *DescriptorRecord) { r.OutputSchema = nested(62) }, "?"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d, err := DescriptorFrom(record(t, "graph.demo", tt.edit))
			if tt.path == "" {
				if err != nil {
					t.Fatal(err)
				}
				roundTrip(t, d)
				return
			}
			e := wantCode(t, err, CodeDescriptorInvalid)
			if tt.path != "?" && e.Path != tt.path {
				t.Errorf("path %q, want %q (%v)", e.Path, tt.path, err)
			}
			if !d.IsZero() {
				t.Error("a descriptor beside the error")
			}
		})
	}
}

// nested is an object that nests n deep.
func nested(n int) jsontext.Value {
	return jsontext.Value(strings.Repeat(`{"not":`, n-1) + "{}" + strings.Repeat("}", n-1))
}

func roundTrip(t testing.TB, d Descriptor) {
	t.Helper()
	printed, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	canonical, err := canonjson.Canonicalize(printed)
	if err != nil || !bytes.Equal(canonical, d.canonical) {
		t.Fatalf("printed %s, canonical %s, %v", printed, canonical, err)
	}
	again, err := ParseDescriptor(printed)
	if err != nil || !again.Equal(d) {
		t.Fatalf("%s reads back as %v, %v", printed, again, err)
	}
}

func TestDescriptorJSON(t *testing.T) {
	printed, err := json.Marshal(descriptor(t, "graph.demo", func(r *DescriptorRecord) { r.Examples, r.Tags = nil, nil }))
	if err != nil {
		t.Fatal(err)
	}
	rt, err := json.Marshal(available(t, "demo-tool"))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"accepted_artifact_types":[],"accepted_input_kinds":["STRUCTURED_REQUEST"],"capability_id":"graph.demo",` +
		`"description":"A demonstration.","descriptor_version":"1",` +
		`"input_schema":{"additionalProperties":false,"properties":{"n":{"minimum":0,"type":"integer"}},"required":["n"],"type":"object"},` +
		`"invocation_examples":[],"modes":["EXPLORE"],"output_schema":{"type":"object"},"provider":"demo-tool","provider_runtime":` + string(rt) +
		`,"read_only":true,"tags":[],"title":"Demo","version":"1"}`
	if diff := cmp.Diff(want, string(printed)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(printed, &keys); err != nil || len(keys) != len(descriptorKeys()) {
		t.Errorf("%d keys, want %d, %v", len(keys), len(descriptorKeys()), err)
	}
}

// A descriptor is a value: neither what it was made of nor what it gives out can
// change it.
func TestDescriptorIsImmutable(t *testing.T) {
	r := record(t, "graph.demo")
	d, err := DescriptorFrom(r)
	if err != nil {
		t.Fatal(err)
	}
	before := string(d.canonical)
	scribble := func(r DescriptorRecord) {
		r.Tags[0], r.Modes[0], r.InputSchema[1], r.OutputSchema[1], r.Examples[0].Input[1] = "x", "X", 'x', 'x', 'x'
		r.Examples[0].Name = "x"
		*r.ProviderRuntime = provider.Runtime{}
	}
	scribble(r)
	scribble(d.Record())
	printed, err := d.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	printed[0] = 'x'
	d.Modes()[0] = "X"
	again, err := d.MarshalJSON()
	if err != nil || string(again) != before || d.r.Modes[0] != provider.Explore || d.r.Tags[0] != "graph" || d.Runtime().IsZero() {
		t.Errorf("changed to %s, %v", again, err)
	}
}

func TestDescriptorIsNormalised(t *testing.T) {
	d := descriptor(t, "graph.demo", func(r *DescriptorRecord) { r.Title = "cafe\u0301" })
	if got := d.Record().Title; got != "caf\u00e9" {
		t.Errorf("title %q", got)
	}
	roundTrip(t, d)
}

func TestParseDescriptor(t *testing.T) {
	good := string(descriptor(t, "graph.demo").canonical)
	without := func(key string) string {
		var members map[string]json.RawMessage
		if err := json.Unmarshal([]byte(good), &members); err != nil {
			t.Fatal(err)
		}
		delete(members, key)
		out, err := json.Marshal(members)
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	with := func(key, value string) string {
		return strings.TrimSuffix(without(key), "}") + `,"` + key + `":` + value + "}"
	}
	tests := []struct {
		name, in string
		is       error // nil is accepted
		path     string
	}{
		{"white space and order", "\n" + with("version", `"1"`) + " ", nil, ""},
		{"unknown key", with("colour", "1"), strictjson.CodeUnknownKey, ""},
		{"key of a later version", with("input_ports", "[]"), strictjson.CodeUnknownKey, ""},
		{"repeated key", strings.TrimSuffix(good, "}") + `,"title":"x"}`, strictjson.CodeDuplicateKey, ""},
		{"folded key", with("Title", `"x"`), strictjson.CodeFoldedKey, ""},
		{"trailing data", good + "{}", strictjson.CodeTrailingData, ""},
		{"byte-order mark", "\ufeff" + good, strictjson.CodeByteOrderMark, ""},
		{"invalid UTF-8", strings.Replace(good, "Demo", "\xff", 1), strictjson.CodeInvalidUTF8, ""},
		{"lone surrogate", strings.Replace(good, "Demo", `\ud800`, 1), strictjson.CodeInvalidUTF8, ""},
		{"empty", "", strictjson.CodeSyntax, ""},
		{"null", "null", CodeDescriptorInvalid, "/descriptor_version"},
		{"list", "[]", strictjson.CodeWrongType, ""},
		{"number as text", with("title", "1"), strictjson.CodeWrongType, ""},
		{"text as flag", with("read_only", `"true"`), strictjson.CodeWrongType, ""},
		{"too large", good + strings.Repeat(" ", strictjson.MaxBytes), strictjson.CodeTooLarge, ""},
		{"runtime of another shape", with("provider_runtime", "{}"), provider.CodeMalformedRuntime, ""},
		{"runtime with an unknown key", strings.Replace(good, `"runtime_version"`, `"x":1,"runtime_version"`, 1), provider.CodeMalformedRuntime, ""},
		{"null runtime", with("provider_runtime", "null"), nil, ""},
		{"null in tags", with("tags", "[null]"), CodeDescriptorInvalid, "/tags/0"},
		{"null in modes", with("modes", "[null]"), CodeDescriptorInvalid, "/modes/0"},
		{"example without a mode", with("invocation_examples", `[{"name":"a","description":"d","input":{}}]`), CodeDescriptorInvalid, "/invocation_examples/0/mode"},
		{"example without an input", with("invocation_examples", `[{"name":"a","description":"d","mode":"EXPLORE"}]`), CodeDescriptorInvalid, "/invocation_examples/0/input"},
		{"example with a null name", with("invocation_examples", `[{"name":null,"description":"d","input":{},"mode":"EXPLORE"}]`), CodeDescriptorInvalid, "/invocation_examples/0/name"},
		{"null example", with("invocation_examples", `[null]`), CodeDescriptorInvalid, "/invocation_examples/0/name"},
		{"example with an unknown key", with("invocation_examples", `[{"name":"a","description":"d","input":{},"mode":"EXPLORE","x":1}]`), strictjson.CodeUnknownKey, ""},
	}
	for _, key := range descriptorKeys() {
		var absent, null error = CodeDescriptorInvalid, CodeDescriptorInvalid
		switch descriptorPresence(key) {
		case optional:
			absent = nil
		case nullable:
			null = nil
		case required:
		}
		tests = append(tests, []struct {
			name, in string
			is       error
			path     string
		}{{"without " + key, without(key), absent, "/" + key}, {"null " + key, with(key, "null"), null, "/" + key}}...)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d, err := ParseDescriptor([]byte(tt.in))
			if tt.is == nil {
				if err != nil {
					t.Fatal(err)
				}
				roundTrip(t, d)
				return
			}
			e := wantCode(t, err, CodeDescriptorInvalid)
			if !errors.Is(err, tt.is) || (tt.path != "" && e.Path != tt.path) {
				t.Errorf("got %v at %q, want %v at %q", err, e.Path, tt.is, tt.path)
			}
			if !d.IsZero() {
				t.Error("a descriptor beside the error")
			}
		})
	}
}

func TestDescriptorUnmarshal(t *testing.T) {
	d := descriptor(t, "graph.demo")
	kept := d
	if err := json.Unmarshal([]byte(`{}`), &kept); !errors.Is(err, CodeDescriptorInvalid) || !kept.Equal(d) {
		t.Errorf("%v; %v", err, kept)
	}
	var read Descriptor
	if err := json.Unmarshal(d.canonical, &read); err != nil || !read.Equal(d) {
		t.Errorf("%v; %v", err, read)
	}
	zero, err := json.Marshal(Descriptor{})
	if err != nil || string(zero) != "null" {
		t.Errorf("zero prints %s, %v", zero, err)
	}
}

func FuzzParseDescriptor(f *testing.F) {
	good := descriptor(f, "graph.demo").canonical
	f.Add(good)
	f.Add(descriptor(f, "a_b", func(r *DescriptorRecord) {
		r.ProviderRuntime, r.InputKinds, r.ArtifactTypes = nil, []string{KindTypedArtifact}, []string{"x"}
	}).canonical)
	for from, to := range map[string]string{`"tags":["graph"],`: "", `"Demo"`: "\"e\u0301\""} {
		seed := bytes.Replace(good, []byte(from), []byte(to), 1)
		if _, err := ParseDescriptor(seed); err != nil || bytes.Equal(seed, good) {
			f.Fatalf("seed %s: %v", seed, err)
		}
		f.Add(seed)
	}
	f.Add([]byte(`{"descriptor_version":"1"}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		d, err := ParseDescriptor(in)
		if err != nil {
			wantCode(t, err, CodeDescriptorInvalid)
			if !d.IsZero() {
				t.Fatal("a descriptor beside an error")
			}
			return
		}
		roundTrip(t, d)
		var r Registry
		if err := r.Register(d); err == nil != (len(r.Descriptors()) == 1) {
			t.Fatalf("registered %d, %v", len(r.Descriptors()), err)
		}
	})
}
