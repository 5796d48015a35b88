package housetest

import (
	"fmt"
	"go/ast"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// structTags lists the names that a key of the struct tags of a file gives, such
// as "toml" or "json", in the structs that want accepts.
func structTags(s source, key string, want func(structName string) bool) map[string]string {
	out := map[string]string{}
	ast.Inspect(s.AST, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		st, ok := spec.Type.(*ast.StructType)
		if !ok || !want(spec.Name.Name) {
			return true
		}
		for _, field := range st.Fields.List {
			if field.Tag == nil {
				continue
			}
			tag, err := strconv.Unquote(field.Tag.Value)
			if err != nil {
				continue
			}
			name, _, _ := strings.Cut(reflect.StructTag(tag).Get(key), ",")
			if name != "" && name != "-" {
				out[name] = fmt.Sprintf("%s (%s)", s.at(field), spec.Name.Name)
			}
		}
		return true
	})
	return out
}

// section is the part of a document under the heading, to the next heading of
// the same or a higher level.
func section(t *testing.T, text, heading string) string {
	t.Helper()
	start := strings.Index(text, "\n"+heading+"\n")
	if start < 0 {
		t.Fatalf("docs/formats.md has no heading %q", heading)
	}
	body := text[start+len(heading)+2:]
	level := len(heading) - len(strings.TrimLeft(heading, "#"))
	end := regexp.MustCompile(`(?m)^#{1,` + strconv.Itoa(level) + `} `).FindStringIndex(body)
	if end == nil {
		return body
	}
	return body[:end[0]]
}

// names says whether a text has the word in backquotes, or as a key of JSON in
// an example or a heading of a TOML table.
func names(text, word string) bool {
	quoted := regexp.QuoteMeta(word)
	return regexp.MustCompile("`" + quoted + "`|[\"\\[.]" + quoted + "[\"\\].]").MatchString(text)
}

// Every key that is read or written has to be in docs/formats.md, in the section
// of its form: a word that happens to stand elsewhere does not count.
func TestFormatsNameEveryKey(t *testing.T) {
	formats := document(t, "formats.md")
	every := func(string) bool { return true }
	only := func(list ...string) func(string) bool {
		return func(name string) bool {
			for _, l := range list {
				if l == name {
					return true
				}
			}
			return false
		}
	}
	tests := []struct {
		file, key, heading string
		structs            func(string) bool
		least              int
	}{
		{"provider/manifest_file.go", "toml", "## Manifest", every, 50},
		{"provider/record.go", "json", "## Runtime identity record", only("Record"), 16},
		{"provider/record_check.go", "json", "## Runtime identity record", only("configuration"), 7},
		{"catalog/descriptor.go", "json", "## Capability descriptor", every, 15},
		{"catalog/catalog.go", "json", "## Catalog", only("catalogDocument"), 4},
		{"catalog/policy_parse.go", "json", "## Catalog", only("policyDefinition"), 11},
		{"measure/record.go", "json", "## Measurement record", every, 35},
		{"measure/contract.go", "json", "## Measurement record", only("contract"), 5},
		{"probe/result.go", "json", "## Probe result", every, 50},
		{"probe/observe.go", "json", "## Probe result", every, 15},
		{"cmd/provider-measure/probe.go", "json", "## Probe result", only("probeReport", "probeRun"), 10},
		{"cmd/provider-measure/probe_text.go", "json", "## Probe result", only("probeMedian"), 6},
		{"cmd/provider-measure/trace.go", "json", "## Closure", only("traceReport"), 10},
		{"provider/closure.go", "json", "## Closure", every, 15},
		{"provider/owner.go", "json", "## Closure", only("Owner"), 4},
		{"probe/observe.go", "json", "## Closure", every, 15},
		{"cmd/provider-measure/output.go", "json", "## Errors", only("errorDocument", "errorBody"), 5},
	}
	found := map[string]bool{}
	for _, s := range goSources(t) {
		for _, tt := range tests {
			if s.Path != tt.file {
				continue
			}
			found[tt.file] = true
			body := section(t, formats, tt.heading)
			keys := structTags(s, tt.key, tt.structs)
			if len(keys) < tt.least {
				t.Errorf("%s has %d keys, at least %d are known: the test looks at the wrong structs", tt.file, len(keys), tt.least)
			}
			for name, at := range keys {
				if !names(body, name) {
					t.Errorf("%s: docs/formats.md does not name %s under %q", at, name, tt.heading)
				}
			}
		}
	}
	for _, tt := range tests {
		if !found[tt.file] {
			t.Errorf("%s does not exist; its keys have moved", tt.file)
		}
	}
}

func TestFormatsBite(t *testing.T) {
	s := parseSource(t, "p/a.go", "package p\ntype r struct {\nA int `json:\"alpha,omitempty\" toml:\"first\"`\nB int `json:\"-\"`\nC int\n}\ntype other struct {\nD int `json:\"delta\"`\n}\n")
	got := structTags(s, "json", func(name string) bool { return name == "r" })
	if len(got) != 1 || got["alpha"] == "" {
		t.Errorf("json: %v", got)
	}
	if got := structTags(s, "toml", func(string) bool { return true }); len(got) != 1 || got["first"] == "" {
		t.Errorf("toml: %v", got)
	}
	text := "\n## One\n\n`alpha`, {\"beta\":1}\n\n### Part [gamma]\n\nbare delta\n\n## Two\n\n`epsilon`\n"
	one := section(t, text, "## One")
	for word, want := range map[string]bool{"alpha": true, "beta": true, "gamma": true, "delta": false, "epsilon": false, "alph": false} {
		if names(one, word) != want {
			t.Errorf("names(%q) is %v", word, !want)
		}
	}
}
