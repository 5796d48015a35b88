package provider

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/provider-measure/provider-measure/internal/stricttoml"
)

// full is a manifest with every key of an EXECUTABLE.
const full = `manifest_version = 1

[provider]
id = "tests.tool"
title = "Tool"
version = "1.0"
install_tier = "T2"
license_id = "MIT"
features = ["a", "b"]
homepage = "https://example.org/"

[identity]
kind = "EXECUTABLE"
executable = "tool"
[identity.digest]
linux-x86_64 = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

[runtime]
argv = ["${executable}", "--serve"]
timeout_secs = 7
env = ["HTTP_PROXY"]
set = { A = "${manifest_dir}/x" }
path = ["/bin", "${scratch}"]

[probes.health]
argv = ["${executable}", "--version"]
[probes.health.expect]
exit = 3
stdout = { equals = "v1\n", contains = "v", matches = '^v(?P<version>\d+)', json = { a = [1, true] } }
stderr = { equals = "" }

[probes.readiness]
timeout_secs = 9
env = []
set = {}
path = []

[probes.reproduction]
stdin = "${x} is no interpolation"

[install]
method = "command"
argv = ["/bin/cp", "${executable}", "${scratch}/tool"]
timeout_secs = 60
env = ["HTTPS_PROXY"]

[isolation]
network = "deny"
require = ["network", "memory"]
read = ["/usr"]
write = ["${scratch}/w"]

[[requirements]]
name = "fast"
says = "starts in two seconds"
check = "cold-start-ms <= 2000"

[[capabilities]]
id = "tests.do"
version = "1"
title = "Do"
description = "Does."
read_only = true
tags = ["t"]
modes = ["EXPLORE", "VERIFY"]
accepted_input_kinds = ["STRUCTURED_REQUEST", "TYPED_ARTIFACT"]
accepted_artifact_types = ["x"]
input_schema = "schemas/in.json"
output_schema = "schemas/out.json"
[[capabilities.examples]]
name = "one"
description = "the first"
input = { n = 1 }
mode = "VERIFY"
`

func distText() string {
	return header("tests.demo", "1.0") + "[identity]\nkind = 'PYTHON_DISTRIBUTION_RECORD'\ndistribution = 'demo-pkg'\nimport_name = 'demo_pkg'\n"
}

func treeText() string {
	return header("tests.tree", "1.0") + "[identity]\nkind = 'SOURCE_TREE'\nroot = 'tree'\n"
}

func entrypointText() string {
	return header("tests.tree", "1.0") + "[identity]\nkind = 'SOURCE_TREE'\nentrypoint = 'demo_pkg.plugin:run'\n"
}

func compositeText() string {
	return header("tests.all", CompositeVersion) + "[identity]\nkind = 'COMPOSITE'\ncomponents = ['tests.a', 'tests.b']\n"
}

func manifestFiles() fstest.MapFS {
	return fstest.MapFS{
		"schemas/in.json":    {Data: []byte(`{"type":"object"}`)},
		"schemas/out.json":   {Data: []byte(`{"type" : "object"}`)},
		"schemas/bad.json":   {Data: []byte(`{"type":`)},
		"schemas/list.json":  {Data: []byte(`[]`)},
		"schemas/float.json": {Data: []byte(`{"multipleOf":0.5}`)},
		"schemas/large.json": {Data: []byte(`"` + strings.Repeat("x", maxSchema) + `"`)},
	}
}

func parse(text string) (*Manifest, error) {
	return ParseManifest([]byte(text), ManifestSource{File: "m.toml", Dir: "/m", FS: manifestFiles(), Origin: Operator})
}

// manifestEdit is a manifest made from a good one. In the text, § stands before
// the place that the error must name.
type manifestEdit struct {
	name     string
	base     string
	old, new string // "" for old appends
	reason   error  // nil: accepted
	key      string // of the error
	nearest  string
	says     string
	inSchema bool // a JSON Schema can say it too
}

func (e manifestEdit) marked(t testing.TB) string {
	t.Helper()
	if e.old == "" {
		return e.base + e.new
	}
	if strings.Count(e.base, e.old) != 1 {
		t.Fatalf("%s: %q is %d times in the manifest", e.name, e.old, strings.Count(e.base, e.old))
	}
	return strings.Replace(e.base, e.old, e.new, 1)
}

func (e manifestEdit) text(t testing.TB) string { return strings.Replace(e.marked(t), "§", "", 1) }

// place is where the mark stands.
func (e manifestEdit) place(t testing.TB) (line, column int) {
	before, _, ok := strings.Cut(e.marked(t), "§")
	if !ok {
		return 0, 0
	}
	return strings.Count(before, "\n") + 1, len(before) - strings.LastIndexByte(before, '\n')
}

func toml5(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(input(t, "toml", name+".toml"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func manifestEdits() []manifestEdit {
	invalid, missing, outOfRange, dup, schema := ReasonManifestInvalid, ReasonManifestMissing, ReasonManifestRange, ReasonManifestDuplicate, ReasonManifestSchema
	long := func(n int) string { return strings.Repeat("x", n) }
	dist, tree, entry, composite := distText(), treeText(), entrypointText(), compositeText()
	list := func(n int, item string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "'"+item+"',", i)
		}
		return "[" + b.String() + "]"
	}
	return []manifestEdit{
		{name: "full", base: full},
		{name: "distribution", base: dist, new: "required_attributes = ['A']\nverify_files = true\n"},
		{name: "tree", base: tree, new: "exclude = ['a/b']\n"},
		{name: "entrypoint", base: entry, new: "search_path = ['src', '/x']\ndistribution = 'demo-pkg'\n"},
		{name: "composite", base: composite},

		// syntax, with place
		{name: "typo", base: full, old: "timeout_secs = 7", new: "§timout_secs = 7", reason: stricttoml.CodeUnknownKey, key: "runtime.timout_secs", nearest: "timeout_secs", inSchema: true},
		{name: "typo of a table", base: full, old: "[isolation]", new: "[§isolaton]", reason: stricttoml.CodeUnknownKey, key: "isolaton", nearest: "isolation", inSchema: true},
		{name: "typo in a probe", base: full, old: "exit = 3", new: "§exot = 3", reason: stricttoml.CodeUnknownKey, key: "probes.health.expect.exot", nearest: "exit", inSchema: true},
		{name: "typo inline", base: full, old: "contains = \"v\"", new: "§contain = \"v\"", reason: stricttoml.CodeUnknownKey, key: "probes.health.expect.stdout.contain", nearest: "contains", inSchema: true},
		{name: "unknown probe", base: full, old: "[probes.readiness]", new: "[probes.§redyness]", reason: stricttoml.CodeUnknownKey, key: "probes.redyness", nearest: "readiness", inSchema: true},
		{name: "typo in an example", base: full, old: "mode = \"VERIFY\"", new: "§mod = \"VERIFY\"", reason: stricttoml.CodeUnknownKey, key: "capabilities.0.examples.0.mod", nearest: "mode", inSchema: true},
		{name: "case of a key", base: full, old: "title = \"Tool\"", new: "§Title = \"Tool\"", reason: stricttoml.CodeUnknownKey, key: "provider.Title", nearest: "title", inSchema: true},
		{name: "repeated key", base: full, old: "title = \"Tool\"", new: "title = \"Tool\"\n§title = \"T\"", reason: stricttoml.CodeDuplicateKey, key: "provider.title"},
		{name: "case twin", base: full, old: "set = { A = \"${manifest_dir}/x\" }", new: "set = { A = \"1\", §a = \"2\" }", reason: stricttoml.CodeFoldedKey, key: "runtime.set.a", nearest: "A"},
		{name: "repeated table", base: full, new: "[§runtime]\n", reason: stricttoml.CodeDuplicateKey, key: "runtime"},
		{name: "big integer", base: full, old: "timeout_secs = 7", new: "timeout_secs = §9223372036854775808", reason: stricttoml.CodeWrongType},
		{name: "type", base: full, old: "timeout_secs = 7", new: "timeout_secs = §\"7\"", reason: stricttoml.CodeWrongType, inSchema: true},
		{name: "float", base: full, old: "timeout_secs = 7", new: "timeout_secs = §7.5", reason: stricttoml.CodeWrongType, inSchema: true},
		{name: "invalid UTF-8", base: full, old: "Tool", new: "§\xff", reason: stricttoml.CodeInvalidUTF8},
		{name: "byte-order mark", base: "§\ufeff" + full, reason: stricttoml.CodeByteOrderMark},
		{name: "too large", base: full, new: "#" + long(1<<20), reason: stricttoml.CodeTooLarge},
		{name: "open string", base: "manifest_version = 1\n[provider]\nid = '§x", reason: stricttoml.CodeSyntax},

		// version
		{name: "version of the format", base: full, old: "manifest_version = 1", new: "§manifest_version = 2", reason: ReasonManifestVersion, key: "manifest_version", says: "is 2, this program reads 1", inSchema: true},
		{name: "no version of the format", base: full, old: "manifest_version = 1", new: "", reason: missing, key: "manifest_version", inSchema: true},
		{name: "empty", base: "", reason: missing, key: "manifest_version", inSchema: true},

		// [provider]
		{name: "no id", base: full, old: "[provider]\nid = \"tests.tool\"", new: "[§provider]", reason: missing, key: "provider.id", inSchema: true},
		{name: "id", base: full, old: "id = \"tests.tool\"", new: "§id = \"Tests\"", reason: invalid, key: "provider.id", inSchema: true},
		{name: "short id", base: full, old: "id = \"tests.tool\"", new: "§id = \"ab\"", reason: invalid, key: "provider.id", inSchema: true},
		{name: "id with newline", base: full, old: "id = \"tests.tool\"", new: "§id = \"tests.tool\\n\"", reason: invalid, key: "provider.id", inSchema: true},
		{name: "no title", base: full, old: "[provider]\nid = \"tests.tool\"\ntitle = \"Tool\"", new: "[§provider]\nid = \"tests.tool\"", reason: missing, key: "provider.title", inSchema: true},
		{name: "long title", base: full, old: "title = \"Tool\"", new: "§title = \"" + long(129) + "\"", reason: invalid, key: "provider.title", says: "allowed are 1 to 128", inSchema: true},
		{name: "long version", base: full, old: "version = \"1.0\"", new: "§version = \"" + long(129) + "\"", reason: invalid, key: "provider.version", inSchema: true},
		{name: "no version", base: full, old: "version = \"1.0\"", new: "§version = \"\"", reason: missing, key: "provider.version", inSchema: true},
		{name: "tier", base: full, old: "install_tier = \"T2\"", new: "§install_tier = \"T9\"", reason: invalid, key: "provider.install_tier", inSchema: true},
		{name: "licence", base: full, old: "license_id = \"MIT\"", new: "§license_id = \"Mine\"", reason: invalid, key: "provider.license_id"},
		{name: "feature twice", base: full, old: "features = [\"a\", \"b\"]", new: "§features = [\"a\", \"a\"]", reason: invalid, key: "provider.features", inSchema: true},
		{name: "long feature", base: full, old: "features = [\"a\", \"b\"]", new: "§features = [\"" + long(129) + "\"]", reason: invalid, key: "provider.features"},
		{name: "features", base: full, old: "features = [\"a\", \"b\"]", new: "§features = " + list(65, "f%d"), reason: invalid, key: "provider.features", inSchema: true},
		{name: "homepage", base: full, old: "homepage = \"https://example.org/\"", new: "§homepage = \"javascript:x\"", reason: invalid, key: "provider.homepage"},

		// [identity]
		{name: "no kind", base: full, old: "[identity]\nkind = \"EXECUTABLE\"", new: "[§identity]", reason: missing, key: "identity.kind", inSchema: true},
		{name: "kind", base: full, old: "kind = \"EXECUTABLE\"", new: "§kind = \"executable\"", reason: invalid, key: "identity.kind", inSchema: true},
		{name: "no executable", base: full, old: "executable = \"tool\"", new: "§executable = \"\"", reason: missing, key: "identity.executable"},
		{name: "relative executable", base: full, old: "executable = \"tool\"", new: "§executable = \"bin/tool\"", reason: invalid, key: "identity.executable"},
		{name: "interpolated executable", base: full, old: "executable = \"tool\"", new: "§executable = \"/x/${python}\"", reason: invalid, key: "identity.executable"},
		{name: "long executable", base: full, old: "executable = \"tool\"", new: "§executable = \"/" + long(4096) + "\"", reason: outOfRange, key: "identity.executable"},
		{name: "NUL in executable", base: full, old: "executable = \"tool\"", new: "§executable = \"a\\u0000\"", reason: invalid, key: "identity.executable"},
		{name: "key of another kind", base: full, old: "executable = \"tool\"", new: "executable = \"tool\"\n§root = \"x\"", reason: invalid, key: "identity.root", says: "means nothing for kind EXECUTABLE"},
		{name: "keys of another kind", base: full, old: "executable = \"tool\"", new: "executable = \"tool\"\nsearch_path = [\"x\"]\nroot = \"x\"\n§entrypoint = \"x:y\"\nverify_files = true\ncomponents = []", reason: invalid, key: "identity.entrypoint"},
		{name: "executable of a record", base: dist, new: "§executable = 'x'\n", reason: invalid, key: "identity.executable"},
		{name: "verify_files of a tree", base: tree, new: "§verify_files = true\n", reason: invalid, key: "identity.verify_files"},
		{name: "components of a tree", base: tree, new: "§components = ['abc']\n", reason: invalid, key: "identity.components"},
		{name: "import name of a composite", base: composite, new: "§import_name = 'x'\n", reason: invalid, key: "identity.import_name"},
		{name: "attributes of a composite", base: composite, new: "§required_attributes = ['x']\n", reason: invalid, key: "identity.required_attributes"},
		{name: "search path of a record", base: dist, new: "§search_path = ['x']\n", reason: invalid, key: "identity.search_path"},
		{name: "exclude of a record", base: dist, new: "§exclude = ['x']\n", reason: invalid, key: "identity.exclude"},
		{name: "entrypoint of a record", base: dist, new: "§entrypoint = 'x:y'\n", reason: invalid, key: "identity.entrypoint"},
		{name: "distribution of an executable", base: full, old: "executable = \"tool\"", new: "executable = \"tool\"\n§distribution = \"x\"", reason: invalid, key: "identity.distribution"},
		{name: "pin in upper case", base: full, old: "linux-x86_64 = \"sha256:aaaa", new: "§linux-x86_64 = \"sha256:AAAA", reason: invalid, key: "identity.digest.linux-x86_64", says: "only its case or prefix differs", inSchema: true},
		{name: "pin without prefix", base: full, old: "linux-x86_64 = \"sha256:", new: "§linux-x86_64 = \"", reason: invalid, key: "identity.digest.linux-x86_64", says: "only its case or prefix differs", inSchema: true},
		{name: "short pin", base: full, old: "linux-x86_64 = \"sha256:a", new: "§linux-x86_64 = \"sha256:", reason: invalid, key: "identity.digest.linux-x86_64", inSchema: true},
		{name: "pin for no platform", base: full, old: "linux-x86_64 = \"", new: "§linux_x86_64 = \"", reason: invalid, key: "identity.digest.linux_x86_64", nearest: "linux-x86_64", inSchema: true},
		{name: "pin for Go's platform", base: full, old: "linux-x86_64 = \"", new: "§linux-amd64 = \"", reason: invalid, key: "identity.digest.linux-amd64", nearest: "linux-x86_64", inSchema: true},
		{name: "pin for a Mac", base: full, old: "linux-x86_64 = \"", new: "\"macosx-14.0-arm64\" = \""},
		{name: "no root or entrypoint", base: tree, old: "root = 'tree'\n", new: "", reason: invalid, key: "identity.entrypoint"},
		{name: "root and entrypoint", base: entry, new: "root = 'x'\n", reason: invalid, key: "identity.entrypoint", says: "exactly one"},
		{name: "entrypoint form", base: entry, old: "entrypoint = 'demo_pkg.plugin:run'", new: "§entrypoint = '../outside:run'", reason: invalid, key: "identity.entrypoint"},
		{name: "exclude with entrypoint", base: entry, new: "§exclude = ['x']\n", reason: invalid, key: "identity.exclude"},
		{name: "search path with root", base: tree, new: "§search_path = ['x']\n", reason: invalid, key: "identity.search_path"},
		{name: "distribution with root", base: tree, new: "§distribution = 'x'\n", reason: invalid, key: "identity.distribution"},
		{name: "distribution of an entrypoint", base: entry, new: "§distribution = 'x/y'\n", reason: invalid, key: "identity.distribution"},
		{name: "exclude climbs", base: tree, new: "§exclude = ['../x']\n", reason: invalid, key: "identity.exclude"},
		{name: "exclude twice", base: tree, new: "§exclude = ['x', 'x']\n", reason: invalid, key: "identity.exclude"},
		{name: "empty search path", base: entry, new: "§search_path = ['']\n", reason: missing, key: "identity.search_path.0"},
		{name: "long search path", base: entry, new: "§search_path = " + list(65, "d%d"), reason: outOfRange, key: "identity.search_path"},
		{name: "no distribution", base: dist, old: "distribution = 'demo-pkg'", new: "§distribution = ''", reason: missing, key: "identity.distribution"},
		{name: "distribution name", base: dist, old: "distribution = 'demo-pkg'", new: "§distribution = 'demo pkg'", reason: invalid, key: "identity.distribution"},
		{name: "import name", base: dist, old: "import_name = 'demo_pkg'", new: "§import_name = 'demo-pkg'", reason: invalid, key: "identity.import_name"},
		{name: "no import name", base: dist, old: "import_name = 'demo_pkg'", new: "§import_name = ''", reason: missing, key: "identity.import_name"},
		{name: "attribute", base: dist, new: "§required_attributes = ['a.b']\n", reason: invalid, key: "identity.required_attributes"},
		{name: "attributes", base: dist, new: "§required_attributes = " + list(65, "a%d"), reason: invalid, key: "identity.required_attributes", inSchema: true},
		{name: "no components", base: composite, old: "components = ['tests.a', 'tests.b']", new: "§components = []", reason: missing, key: "identity.components"},
		{name: "component twice", base: composite, old: "components = ['tests.a', 'tests.b']", new: "§components = ['tests.a', 'tests.a']", reason: invalid, key: "identity.components", inSchema: true},
		{name: "component name", base: composite, old: "components = ['tests.a', 'tests.b']", new: "§components = ['A']", reason: invalid, key: "identity.components"},
		{name: "composite version", base: composite, old: "version = \"composite-1\"", new: "§version = \"1.0\"", reason: invalid, key: "provider.version", says: `is "1.0", and the version of every COMPOSITE is "composite-1"`},
		{name: "composite that tells a version", base: composite, new: "[probes.health]\nargv = ['/bin/x']\n§expect = { stdout = { matches = '(?P<version>.+)' } }\n", reason: invalid, key: "probes.health.expect"},

		// commands
		{name: "relative program", base: full, old: "argv = [\"${executable}\", \"--serve\"]", new: "§argv = [\"tool\", \"--serve\"]", reason: invalid, key: "runtime.argv", says: "no PATH search and no shell"},
		{name: "unknown interpolation", base: full, old: "argv = [\"${executable}\", \"--serve\"]", new: "§argv = [\"${executable}\", \"${home}\"]", reason: invalid, key: "runtime.argv.1", says: "${home} is not an interpolation"},
		{name: "open interpolation", base: full, old: "argv = [\"${executable}\", \"--serve\"]", new: "§argv = [\"${executable}\", \"${python\"]", reason: invalid, key: "runtime.argv.1", says: "does not close"},
		{name: "shell variable is text", base: full, old: "\"--serve\"", new: "\"$HOME\""},
		{name: "NUL", base: full, old: "\"--serve\"]", new: "\"\\u0000\"]", reason: invalid, key: "runtime.argv.1"},
		{name: "long argument", base: full, old: "\"--serve\"]", new: "\"" + long(maxArg+1) + "\"]", reason: outOfRange, key: "runtime.argv.1"},
		{name: "many arguments", base: full, old: "[\"${executable}\", \"--serve\"]", new: list(257, "/%d"), reason: outOfRange, key: "runtime.argv"},
		{name: "timeout zero", base: full, old: "timeout_secs = 7", new: "§timeout_secs = 0", reason: outOfRange, key: "runtime.timeout_secs", inSchema: true},
		{name: "timeout negative", base: full, old: "timeout_secs = 7", new: "§timeout_secs = -1", reason: outOfRange, key: "runtime.timeout_secs", inSchema: true},
		{name: "timeout long", base: full, old: "timeout_secs = 7", new: "§timeout_secs = 3601", reason: outOfRange, key: "runtime.timeout_secs", inSchema: true},
		{name: "probe timeout", base: full, old: "timeout_secs = 9", new: "§timeout_secs = 3601", reason: outOfRange, key: "probes.readiness.timeout_secs", inSchema: true},
		{name: "admitted name", base: full, old: "env = [\"HTTP_PROXY\"]", new: "§env = [\"A=B\"]", reason: invalid, key: "runtime.env"},
		{name: "admitted twice", base: full, old: "env = [\"HTTP_PROXY\"]", new: "§env = [\"A\", \"A\"]", reason: invalid, key: "runtime.env"},
		{name: "constant name", base: full, old: "set = { A =", new: "set = { §\"A B\" =", reason: invalid, key: "runtime.set.A B"},
		{name: "constant interpolation", base: full, old: "set = { A = \"${manifest_dir}/x\" }", new: "set = { §A = \"${x}\" }", reason: invalid, key: "runtime.set.A"},
		{name: "relative path", base: full, old: "path = [\"/bin\", \"${scratch}\"]", new: "§path = [\"bin\"]", reason: invalid, key: "runtime.path.0"},
		{name: "probe without argv", base: dist, new: "[probes.§health]\n", reason: missing, key: "probes.health.argv"},
		{name: "stdin that wants interpolation", base: full, old: "stdin = \"${x} is", new: "§stdin = \"${scratch} is", reason: invalid, key: "probes.reproduction.stdin"},
		{name: "long stdin", base: full, old: "stdin = \"${x} is no interpolation\"", new: "§stdin = \"" + long(maxStdin+1) + "\"", reason: outOfRange, key: "probes.reproduction.stdin"},
		{name: "executable of a distribution", base: dist, new: "[§runtime]\nargv = ['${executable}']\n", reason: invalid, key: "runtime"},
		{name: "executable in a constant", base: dist, new: "[probes.§health]\nargv = ['/x']\nset = { A = '${executable}' }\n", reason: invalid, key: "probes.health"},
		{name: "executable in isolation", base: dist, new: "[§isolation]\nread = ['${executable}']\n", reason: invalid, key: "isolation"},
		{name: "executable without version", base: full, old: "(?P<version>\\d+)", new: "\\d+", reason: missing, key: "probes.health", says: "(?P<version>"},
		{name: "exit", base: full, old: "exit = 3", new: "§exit = 256", reason: outOfRange, key: "probes.health.expect.exit", inSchema: true},
		{name: "pattern", base: full, old: "matches = '^v(?P<version>\\d+)'", new: "§matches = '('", reason: invalid, key: "probes.health.expect.stdout.matches"},
		{name: "pattern that can't fail", base: full, old: "matches = '^v(?P<version>\\d+)'", new: "§matches = '(?P<version>\\d*)'", reason: invalid, key: "probes.health.expect.stdout.matches"},
		{name: "empty part", base: full, old: "contains = \"v\"", new: "§contains = \"\"", reason: invalid, key: "probes.health.expect.stdout.contains"},
		{name: "date in expected JSON", base: full, old: "json = { a = [1, true] }", new: "§json = { a = 2020-01-01 }", reason: invalid, key: "probes.health.expect.stdout.json", says: "has no form in JSON"},
		{name: "float in expected JSON", base: full, old: "json = { a = [1, true] }", new: "§json = [0.5]", reason: invalid, key: "probes.health.expect.stdout.json"},

		// [install]
		{name: "method", base: full, old: "method = \"command\"", new: "§method = \"apt\"", reason: invalid, key: "install.method", inSchema: true},
		{name: "install without argv", base: full, old: "[install]\nmethod = \"command\"\nargv = [\"/bin/cp\", \"${executable}\", \"${scratch}/tool\"]", new: "[§install]\nmethod = \"command\"", reason: missing, key: "install.argv"},
		{name: "install without scratch", base: full, old: "argv = [\"/bin/cp\", \"${executable}\", \"${scratch}/tool\"]", new: "§argv = [\"/bin/true\"]", reason: invalid, key: "install.argv"},
		{name: "install python with argv", base: full, old: "method = \"command\"\nargv", new: "method = \"python\"\n§argv", reason: invalid, key: "install.argv"},
		{name: "install python", base: dist, new: "[install]\nmethod = 'python'\npackage = 'demo-pkg'\n"},
		{name: "install python without package", base: dist, new: "[§install]\nmethod = 'python'\n", reason: missing, key: "install.package"},
		{name: "install option as package", base: dist, new: "[install]\nmethod = 'python'\n§package = '--index-url=x'\n", reason: invalid, key: "install.package"},
		{name: "install url as version", base: dist, new: "[install]\nmethod = 'python'\npackage = 'a'\n§version = '1 @ http://x'\n", reason: invalid, key: "install.version"},
		{name: "install npm", base: dist, new: "[install]\nmethod = 'npm'\npackage = '@scope/name'\n"},
		{name: "install go", base: dist, new: "[install]\nmethod = 'go'\npackage = 'example.org/cmd/x'\nversion = 'v1.2.3'\n"},
		{name: "install go of a local path", base: dist, new: "[install]\nmethod = 'go'\n§package = './x'\n", reason: invalid, key: "install.package"},
		{name: "install timeout", base: full, old: "timeout_secs = 60", new: "§timeout_secs = 0", reason: outOfRange, key: "install.timeout_secs", inSchema: true},
		{name: "install env", base: full, old: "env = [\"HTTPS_PROXY\"]", new: "§env = [\"-\"]", reason: invalid, key: "install.env"},

		// [isolation]
		{name: "network", base: full, old: "network = \"deny\"", new: "§network = \"none\"", reason: invalid, key: "isolation.network", inSchema: true},
		{name: "property", base: full, old: "require = [\"network\", \"memory\"]", new: "§require = [\"cpu\"]", reason: invalid, key: "isolation.require", inSchema: true},
		{name: "allowed and required", base: full, old: "network = \"deny\"\nrequire", new: "network = \"allow\"\n§require", reason: invalid, key: "isolation.require"},
		{name: "relative read", base: full, old: "read = [\"/usr\"]", new: "§read = [\"usr\"]", reason: invalid, key: "isolation.read.0"},
		{name: "unknown interpolation in write", base: full, old: "write = [\"${scratch}/w\"]", new: "§write = [\"${home}/w\"]", reason: invalid, key: "isolation.write.0"},

		// [[requirements]]
		{name: "requirement name", base: full, old: "name = \"fast\"", new: "§name = \"Fast\"", reason: invalid, key: "requirements.0.name", inSchema: true},
		{name: "requirement twice", base: full, old: "[[capabilities]]", new: "[[requirements]]\n§name = \"fast\"\nsays = \"x\"\ncheck = \"cold-start-ms <= 1\"\n[[capabilities]]", reason: dup, key: "requirements.1.name"},
		{name: "requirement in no words", base: full, old: "says = \"starts in two seconds\"", new: "§says = \"\"", reason: missing, key: "requirements.0.says", inSchema: true},
		{name: "requirement check", base: full, old: "check = \"cold-start-ms <= 2000\"", new: "§check = \"cold-start-ms < fast\"", reason: invalid, key: "requirements.0.check"},
		{name: "requirement measurement", base: full, old: "check = \"cold-start-ms <= 2000\"", new: "§check = \"hot-start-ms <= 2000\"", reason: invalid, key: "requirements.0.check", says: "cold-start-ms"},

		// [[capabilities]]
		{name: "capability id", base: full, old: "id = \"tests.do\"", new: "§id = \"do\"", reason: invalid, key: "capabilities.0.id", inSchema: true},
		{name: "capability twice", base: full, new: "[[capabilities]]\n§id = \"tests.do\"\nversion = '1'\ntitle = 'x'\ndescription = 'x'\ninput_schema = \"schemas/in.json\"\noutput_schema = \"schemas/out.json\"", reason: dup, key: "capabilities.1.id"},
		{name: "capability version", base: full, old: "id = \"tests.do\"\nversion = \"1\"", new: "id = \"tests.do\"\n§version = \"" + long(65) + "\"", reason: invalid, key: "capabilities.0.version", inSchema: true},
		{name: "capability title", base: full, old: "title = \"Do\"", new: "§title = \"" + long(129) + "\"", reason: invalid, key: "capabilities.0.title", inSchema: true},
		{name: "capability description", base: full, old: "description = \"Does.\"", new: "§description = \"" + long(513) + "\"", reason: invalid, key: "capabilities.0.description", inSchema: true},
		{name: "no capability description", base: full, old: "description = \"Does.\"", new: "§description = \"\"", reason: missing, key: "capabilities.0.description", inSchema: true},
		{name: "tag twice", base: full, old: "tags = [\"t\"]", new: "§tags = [\"t\", \"t\"]", reason: invalid, key: "capabilities.0.tags"},
		{name: "capability mode", base: full, old: "modes = [\"EXPLORE\", \"VERIFY\"]", new: "§modes = [\"GUESS\"]", reason: invalid, key: "capabilities.0.modes", inSchema: true},
		{name: "input kind", base: full, old: "accepted_input_kinds = [\"STRUCTURED_REQUEST\", \"TYPED_ARTIFACT\"]", new: "§accepted_input_kinds = [\"PROSE\"]", reason: invalid, key: "capabilities.0.accepted_input_kinds"},
		{name: "artifact type without kind", base: full, old: "accepted_input_kinds = [\"STRUCTURED_REQUEST\", \"TYPED_ARTIFACT\"]\naccepted", new: "§accepted", reason: invalid, key: "capabilities.0.accepted_artifact_types"},
		{name: "artifact kind without type", base: full, old: "accepted_artifact_types = [\"x\"]", new: "§accepted_artifact_types = []", reason: invalid, key: "capabilities.0.accepted_artifact_types"},
		{name: "no schema", base: full, old: "[[capabilities]]\nid = \"tests.do\"", new: "[[capabilities]]\nid = \"tests.do\"\n[[capabilities]]\nid = \"tests.other\"", reason: missing, inSchema: true},
		{name: "schema missing", base: full, old: "input_schema = \"schemas/in.json\"", new: "§input_schema = \"schemas/none.json\"", reason: schema, key: "capabilities.0.input_schema"},
		{name: "schema not JSON", base: full, old: "input_schema = \"schemas/in.json\"", new: "§input_schema = \"schemas/bad.json\"", reason: schema, key: "capabilities.0.input_schema"},
		{name: "schema a list", base: full, old: "input_schema = \"schemas/in.json\"", new: "§input_schema = \"schemas/list.json\"", reason: schema, key: "capabilities.0.input_schema"},
		{name: "schema with float", base: full, old: "input_schema = \"schemas/in.json\"", new: "§input_schema = \"schemas/float.json\"", reason: schema, key: "capabilities.0.input_schema"},
		{name: "schema large", base: full, old: "input_schema = \"schemas/in.json\"", new: "§input_schema = \"schemas/large.json\"", reason: schema, key: "capabilities.0.input_schema", says: "larger than"},
		{name: "schema a folder", base: full, old: "input_schema = \"schemas/in.json\"", new: "§input_schema = \"schemas\"", reason: schema, key: "capabilities.0.input_schema", says: "not a regular file"},
		{name: "schema climbs", base: full, old: "input_schema = \"schemas/in.json\"", new: "§input_schema = \"../in.json\"", reason: invalid, key: "capabilities.0.input_schema"},
		{name: "schema absolute", base: full, old: "input_schema = \"schemas/in.json\"", new: "§input_schema = \"/in.json\"", reason: invalid, key: "capabilities.0.input_schema"},
		{name: "example name", base: full, old: "name = \"one\"", new: "§name = \"One\"", reason: invalid, key: "capabilities.0.examples.0.name", inSchema: true},
		{name: "example twice", base: full, new: "[[capabilities.examples]]\n§name = 'one'\ndescription = 'x'\ninput = {}\n", reason: dup, key: "capabilities.0.examples.1.name"},
		{name: "example description", base: full, old: "description = \"the first\"", new: "§description = \"" + long(257) + "\"", reason: invalid, key: "capabilities.0.examples.0.description", inSchema: true},
		{name: "example mode", base: full, old: "modes = [\"EXPLORE\", \"VERIFY\"]", new: "modes = [\"EXPLORE\"]", reason: invalid, key: "capabilities.0.examples.0.mode"},
		{name: "example without input", base: full, old: "[[capabilities.examples]]\nname = \"one\"\ndescription = \"the first\"\ninput = { n = 1 }", new: "[[capabilities.examples]]\nname = \"one\"\ndescription = \"the first\"", reason: missing, key: "capabilities.0.examples.0.input", inSchema: true},
		{name: "example input of text", base: full, old: "input = { n = 1 }", new: "§input = 'x'", reason: invalid, key: "capabilities.0.examples.0.input"},
		{name: "example with a float", base: full, old: "input = { n = 1 }", new: "§input = { n = 1.5 }", reason: invalid, key: "capabilities.0.examples.0.input"},
		{name: "example with a date", base: full, old: "input = { n = 1 }", new: "§input = { n = 2020-01-01T00:00:00Z }", reason: invalid, key: "capabilities.0.examples.0.input"},
		{name: "example with a time", base: full, old: "input = { n = 1 }", new: "§input = { n = [07:32:00] }", reason: invalid, key: "capabilities.0.examples.0.input"},
		{name: "example with a large integer", base: full, old: "input = { n = 1 }", new: "§input = { n = 9007199254740992 }", reason: invalid, key: "capabilities.0.examples.0.input"},
		{name: "example with infinity", base: full, old: "input = { n = 1 }", new: "§input = { n = inf }", reason: invalid, key: "capabilities.0.examples.0.input"},
	}
}
