package provider

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

const sampleDigest = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

// sample is a valid AVAILABLE record of a distribution, as JSON.
func sample(kind string) map[string]any {
	m := map[string]any{
		"runtime_version": "1", "provider": "tests.sample", "availability": "AVAILABLE", "version": "1.0", "digest": sampleDigest,
		"digest_kind": kind, "platform": "linux-x86_64", "install_tier": "T1", "license_id": "MIT", "license_files": []any{},
		"features": []any{}, "checker_ids": []any{}, "configuration": map[string]any{}, "distribution_import_name": nil,
		"distribution_required_attributes": []any{}, "diagnostic": nil,
	}
	switch kind {
	case "PYTHON_DISTRIBUTION_RECORD":
		m["configuration"] = map[string]any{"distribution": "demo-pkg"}
		m["distribution_import_name"] = "demo_pkg.sub"
		m["distribution_required_attributes"] = []any{"A", "_b2"}
	case "EXECUTABLE":
		m["configuration"] = map[string]any{"executable": "/usr/bin/tool"}
	case "SOURCE_TREE":
		m["configuration"] = map[string]any{"root": "/srv/tree", "tree_format": "provider-measure.source-tree.v1"}
	case "COMPOSITE":
		m["version"] = "composite-1"
		m["configuration"] = map[string]any{"components": []any{sample("EXECUTABLE")}}
	}
	return m
}

// unavailableSample is a valid UNAVAILABLE record.
func unavailableSample() map[string]any {
	m := sample("EXECUTABLE")
	m["availability"], m["version"], m["digest"], m["digest_kind"] = "UNAVAILABLE", nil, nil, nil
	m["configuration"], m["diagnostic"] = map[string]any{}, "gone"
	return m
}

func encode(t testing.TB, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// edit is one change of a valid record, and whether it is still one.
type edit struct {
	name string
	kind string
	do   func(m map[string]any)
	code Code // "" when accepted
	// schemaBlind is set for what a JSON Schema can't say.
	schemaBlind bool
}

func set(key string, value any) func(map[string]any) {
	return func(m map[string]any) { m[key] = value }
}

func configure(value any) func(map[string]any) { return set("configuration", value) }

func repeated(s string, n int) string { return strings.Repeat(s, n) }

// recordEdits is CONTRACT section 1 as a table; kind "" is an executable, and
// "UNAVAILABLE" a record that is not available.
func recordEdits() []edit {
	record, tree, composite, gone := "PYTHON_DISTRIBUTION_RECORD", "SOURCE_TREE", "COMPOSITE", "UNAVAILABLE"
	bad, lacks := CodeMalformedRuntime, CodeIdentityIncomplete
	attributes := func(n int) []any {
		var out []any
		for i := range n {
			out = append(out, fmt.Sprintf("a%d", i))
		}
		return out
	}
	return []edit{
		{"plain", "", func(map[string]any) {}, "", false},
		{"plain record", record, func(map[string]any) {}, "", false},
		{"plain tree", tree, func(map[string]any) {}, "", false},
		{"plain composite", composite, func(map[string]any) {}, "", false},
		{"plain unavailable", gone, func(map[string]any) {}, "", false},
		{"runtime version", "", set("runtime_version", "2"), bad, false},
		{"runtime version with newline", "", set("runtime_version", "1\n"), bad, false},

		{"provider shortest", "", set("provider", "a.b"), "", false},
		{"provider without separator", "", set("provider", "abc"), "", false},
		{"provider of digits", "", set("provider", "123"), "", false},
		{"provider longest", "", set("provider", repeated("a", 128)), "", false},
		{"provider too short", "", set("provider", "ab"), bad, false},
		{"provider too long", "", set("provider", repeated("a", 129)), bad, false},
		{"provider with newline", "", set("provider", "abc\n"), bad, false},
		{"provider upper case", "", set("provider", "Abc"), bad, false},
		{"provider double separator", "", set("provider", "a..b"), bad, false},
		{"provider ends in separator", "", set("provider", "abc-"), bad, false},
		{"provider null", "", set("provider", nil), bad, false},
		{"provider number", "", set("provider", 1), bad, false},

		{"availability unknown", "", set("availability", "MAYBE"), bad, false},
		{"availability lower case", "", set("availability", "available"), bad, false},
		{"availability empty", "", set("availability", ""), bad, false},
		{"available without version", "", set("version", nil), bad, false},
		{"available without digest", "", set("digest", nil), bad, false},
		{"available without kind", "", set("digest_kind", nil), bad, false},
		{"available with diagnostic", "", set("diagnostic", "odd"), bad, false},
		{"unavailable without diagnostic", gone, set("diagnostic", nil), bad, false},
		{"unavailable with empty diagnostic", gone, set("diagnostic", ""), bad, false},
		{"unavailable with version", gone, set("version", "1"), bad, false},
		{"unavailable with digest", gone, set("digest", sampleDigest), bad, false},
		{"unavailable with kind", gone, set("digest_kind", "EXECUTABLE"), bad, false},
		{"unavailable with import name", gone, set("distribution_import_name", "a"), bad, false},

		{"version longest", "", set("version", repeated("é", 128)), "", false},
		{"version too long", "", set("version", repeated("1", 129)), bad, false},
		{"version empty", "", set("version", ""), bad, false},
		{"digest upper case", "", set("digest", "sha256:"+repeated("A", 64)), bad, false},
		{"digest short", "", set("digest", "sha256:"+repeated("a", 63)), bad, false},
		{"digest with newline", "", set("digest", sampleDigest+"\n"), bad, false},
		{"digest of another algorithm", "", set("digest", "sha512:"+repeated("a", 128)), bad, false},
		{"digest without prefix", "", set("digest", repeated("a", 64)), bad, false},
		{"kind unknown", "", set("digest_kind", "FILE"), bad, false},
		{"platform longest", "", set("platform", repeated("p", 128)), "", false},
		{"platform empty", "", set("platform", ""), bad, false},
		{"platform too long", "", set("platform", repeated("p", 129)), bad, false},
		{"tier unknown", "", set("install_tier", "T4"), bad, false},
		{"tier lower case", "", set("install_tier", "t1"), bad, false},

		{"licence expression", "", set("license_id", "MIT AND LGPL-3.0-or-later"), "", false},
		{"licence with exception", "", set("license_id", "Apache-2.0 WITH LLVM-exception"), "", false},
		{"licence reference", "", set("license_id", "LicenseRef-vendor"), "", true},
		{"licence empty", "", set("license_id", ""), bad, false},
		{"licence of no list", "", set("license_id", "Whatever-1.0"), bad, true},
		{"licence with newline", "", set("license_id", "MIT\n"), bad, true},
		{"licence too long", "", set("license_id", "MIT"+repeated(" AND MIT", 20)), bad, false},

		{"licence files", "", set("license_files", []any{"a/LICENSE", "b", "..c/.d", repeated("x", 256)}), "", false},
		{"licence file absolute", "", set("license_files", []any{"/a"}), bad, false},
		{"licence file climbs", "", set("license_files", []any{"a/../b"}), bad, false},
		{"licence file climbs by backslash", "", set("license_files", []any{`a\..\b`}), bad, false},
		{"licence file begins with backslash", "", set("license_files", []any{`\a`}), bad, false},
		{"licence file with dot", "", set("license_files", []any{"./b"}), bad, false},
		{"licence file with empty part", "", set("license_files", []any{"a//b"}), bad, false},
		{"licence file ends in slash", "", set("license_files", []any{"a/"}), bad, false},
		{"licence file empty", "", set("license_files", []any{""}), bad, false},
		{"licence file too long", "", set("license_files", []any{repeated("x", 257)}), bad, false},
		{"licence file twice", "", set("license_files", []any{"a", "a"}), bad, false},
		{"licence file twice after NFC", "", set("license_files", []any{"\u00e9", "e\u0301"}), bad, true},
		{"licence files null", "", set("license_files", nil), bad, false},
		{"licence file null", "", set("license_files", []any{nil}), bad, false},

		{"features", "", set("features", []any{"a b", repeated("é", 128)}), "", false},
		{"feature twice", "", set("features", []any{"a", "a"}), bad, false},
		{"feature empty", "", set("features", []any{""}), bad, false},
		{"feature too long", "", set("features", []any{repeated("f", 129)}), bad, false},
		{"features null", "", set("features", nil), bad, false},
		{"features text", "", set("features", "a"), bad, false},

		{"checkers", "", set("checker_ids", []any{"checker://sha256/" + repeated("0", 64)}), "", false},
		{"checker twice", "", set("checker_ids", []any{"checker://sha256/" + repeated("0", 64), "checker://sha256/" + repeated("0", 64)}), bad, false},
		{"checker upper case", "", set("checker_ids", []any{"checker://sha256/" + repeated("A", 64)}), bad, false},
		{"checker with newline", "", set("checker_ids", []any{"checker://sha256/" + repeated("0", 64) + "\n"}), bad, false},
		{"checkers null", "", set("checker_ids", nil), bad, false},

		{"import name longest", record, set("distribution_import_name", repeated("a", 256)), "", false},
		{"import name too long", record, set("distribution_import_name", repeated("a", 257)), bad, false},
		{"import name empty", record, set("distribution_import_name", ""), bad, false},
		{"import name with newline", record, set("distribution_import_name", "a\n"), bad, false},
		{"import name with empty part", record, set("distribution_import_name", "a..b"), bad, false},
		{"import name of a digit", record, set("distribution_import_name", "1a"), bad, false},
		{"import name of another kind", "", set("distribution_import_name", "a"), bad, false},
		{"import name null", record, set("distribution_import_name", nil), "", false},
		{"attributes 64", record, set("distribution_required_attributes", attributes(64)), "", false},
		{"attributes 65", record, set("distribution_required_attributes", attributes(65)), bad, false},
		{"attribute twice", record, set("distribution_required_attributes", []any{"a", "a"}), bad, false},
		{"attribute dotted", record, set("distribution_required_attributes", []any{"a.b"}), bad, false},
		{"attribute with newline", record, set("distribution_required_attributes", []any{"a\n"}), bad, false},
		{"attribute of 300", record, set("distribution_required_attributes", []any{repeated("a", 300)}), "", false},
		{"attributes of another kind", "", set("distribution_required_attributes", []any{"a"}), bad, false},
		{"attributes null", record, set("distribution_required_attributes", nil), bad, false},

		{"diagnostic longest", gone, set("diagnostic", repeated("é", 512)), "", false},
		{"diagnostic too long", gone, set("diagnostic", repeated("é", 513)), bad, false},

		{"configuration null", "", configure(nil), bad, false},
		{"configuration list", "", configure([]any{}), bad, false},
		{"configuration text", gone, configure("x"), bad, false},
		{"configuration of own keys", "", configure(map[string]any{"executable": "/a", "x": []any{1, nil, map[string]any{"y": true}}}), "", false},
		{"configuration float", "", configure(map[string]any{"executable": "/a", "x": 1.5}), bad, true},
		{"configuration large integer", "", configure(map[string]any{"executable": "/a", "x": 1 << 53}), bad, true},
		{"configuration largest integer", "", configure(map[string]any{"executable": "/a", "x": 1<<53 - 1}), "", false},
		{"configuration folded keys", "", configure(map[string]any{"executable": "/a", "x": 1, "X": 1}), bad, true},

		{"no executable", "", configure(map[string]any{}), lacks, true},
		{"executable relative", "", configure(map[string]any{"executable": "bin/tool"}), lacks, true},
		{"executable unclean", "", configure(map[string]any{"executable": "/usr/../bin/tool"}), lacks, true},
		{"executable number", "", configure(map[string]any{"executable": 1}), bad, true},
		{"no tree", tree, configure(map[string]any{}), lacks, true},
		{"root relative", tree, configure(map[string]any{"root": "x", "tree_format": "provider-measure.source-tree.v1"}), lacks, true},
		{"root without format", tree, configure(map[string]any{"root": "/x"}), lacks, true},
		{"root of a package format", tree, configure(map[string]any{"root": "/x", "tree_format": "jacobian.python-package.v2"}), bad, true},
		{"entrypoint alone", tree, configure(map[string]any{"entrypoint": "a.b:c"}), "", false},
		{"entrypoint with format", tree, configure(map[string]any{"entrypoint": "a.b:c", "tree_format": "jacobian.python-package.v2", "search_path": []any{"/x"}}), "", false},
		{"entrypoint of a tree format", tree, configure(map[string]any{"entrypoint": "a:c", "tree_format": "provider-measure.source-tree.v1"}), bad, true},
		{"entrypoint climbs", tree, configure(map[string]any{"entrypoint": "../outside:run"}), bad, true},
		{"entrypoint with relative search path", tree, configure(map[string]any{"entrypoint": "a:c", "search_path": []any{"x"}}), bad, true},
		{"root and entrypoint", tree, configure(map[string]any{"entrypoint": "a:c", "root": "/x"}), bad, true},
		{"no distribution", record, configure(map[string]any{}), lacks, true},
		{"distribution impossible", record, configure(map[string]any{"distribution": "a/b"}), bad, true},
		{"no components", composite, configure(map[string]any{}), lacks, true},
		{"components empty", composite, configure(map[string]any{"components": []any{}}), lacks, true},
		{"component not a record", composite, configure(map[string]any{"components": []any{map[string]any{"provider": "abc"}}}), bad, true},
		{"component unavailable", composite, configure(map[string]any{"components": []any{unavailableSample()}}), bad, true},
		{"component twice", composite, configure(map[string]any{"components": []any{sample("EXECUTABLE"), sample("EXECUTABLE")}}), bad, true},
		{"component lacks its key", composite, func(m map[string]any) {
			c := sample("EXECUTABLE")
			c["configuration"] = map[string]any{}
			m["configuration"] = map[string]any{"components": []any{c}}
		}, bad, true},
		{"composite version", composite, set("version", "1.0"), bad, true},
		{"components nested", composite, configure(map[string]any{"components": []any{sample("COMPOSITE")}}), "", false},

		{"unknown key", "", set("extra", 1), bad, false},
		{"case key", "", func(m map[string]any) { delete(m, "version"); m["Version"] = "1" }, bad, false},
	}
}

func (e edit) record() map[string]any {
	m := sample(e.kind)
	switch e.kind {
	case "":
		m = sample("EXECUTABLE")
	case "UNAVAILABLE":
		m = unavailableSample()
	}
	e.do(m)
	return m
}
