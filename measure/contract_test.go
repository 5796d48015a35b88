package measure

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/provider-measure/provider-measure/provider"
)

// parse reads a manifest as if it lay in dir.
func parse(t testing.TB, dir, text string) *provider.Manifest {
	t.Helper()
	write(t, filepath.Join(dir, "schema.json"), `{"type":"object"}`, 0o644)
	m, err := provider.ParseManifest([]byte(text), provider.ManifestSource{File: "test.toml", Dir: dir, FS: os.DirFS(dir), Origin: provider.Operator})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

const installTable = `[install]
method = "python"
package = "demo-wheel"
timeout_secs = 120
`

func TestContractDigest(t *testing.T) {
	full := strings.ReplaceAll(toolManifest, "{tool}", "tool") + coldStartProbe + reproductionProbe + installTable + capabilityTable
	of := func(t *testing.T, text string) string {
		d, err := contractDigest(parse(t, t.TempDir(), text))
		if err != nil {
			t.Fatal(err)
		}
		return d.String()
	}
	// Pinned: the same bytes on every host, and after every change of this code
	// that does not mean to break comparability.
	const want = "sha256:2d29cf6a87d5a95a17b303dbb20d7c1d2367edbfb2bb1eb35469e0e0994d34c3"
	base := of(t, full)
	if base != want {
		t.Errorf("contract %s, want %s", base, want)
	}
	if other := of(t, full); other != base {
		t.Errorf("another folder gives another contract: %s", other)
	}
	named := func(names string) string {
		return of(t, strings.Replace(full, `"start"]`, "\"start\"]\nenv = ["+names+"]", 1))
	}
	if named(`"A", "B"`) != named(`"B", "A"`) {
		t.Error("the order of admitted names means nothing, and makes another contract")
	}
	for _, tt := range []struct {
		name, from, to string
		same           bool
	}{
		{"argument", `"solve"]`, `"solve", "-v"]`, false},
		{"standard input", `p\nq\n`, `p\nr\n`, false},
		{"expectation", `sat q`, `sat r`, false},
		{"kind of expectation", "equals = \"sat p", "contains = \"sat p", false},
		{"time-out", `"start"]`, "\"start\"]\ntimeout_secs = 21", false},
		{"constant", `"start"]`, "\"start\"]\nset = { A = \"1\" }", false},
		{"admitted name", `"start"]`, "\"start\"]\nenv = [\"A\"]", false},
		{"installed package", `"demo-wheel"`, `"demo-wheels"`, false},
		{"install time-out", "timeout_secs = 120", "timeout_secs = 121", false},
		{"no install", installTable, "", false},
		{"no reproduction", reproductionProbe, "", false},
		{"isolation", "[install]", "[isolation]\nnetwork = \"allow\"\n[install]", false},
		{"title", `title = "Tool"`, `title = "Other"`, true},
		{"health", `"--version"]`, `"--version"]` + "\ntimeout_secs = 3", true},
		{"where the executable is", `executable = "tool"`, `executable = "/opt/tool"`, true},
		{"requirement", installTable, installTable + "[[requirements]]\nname = \"a\"\nsays = \"b\"\ncheck = \"cold-start-ms < 1\"\n", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			changed := strings.Replace(full, tt.from, tt.to, 1)
			if changed == full {
				t.Fatalf("no %q in the manifest", tt.from)
			}
			if got := of(t, changed); (got == base) != tt.same {
				t.Errorf("same %v, want %v", got == base, tt.same)
			}
		})
	}
}

// Every method has its commands in the contract, under names and not paths.
func TestInstallArgv(t *testing.T) {
	for _, method := range []provider.InstallMethod{provider.InstallPython, provider.InstallNPM, provider.InstallGo, provider.InstallCommand} {
		in := &provider.Install{Method: method, Package: "p.example/q", Version: "1.0", Argv: []string{"/bin/x", "${scratch}"}}
		argv := installArgv(in)
		if len(argv) == 0 {
			t.Errorf("%s has no command", method)
		}
		for _, list := range argv {
			if text := strings.Join(list, " "); !strings.Contains(text, "1.0") && method != provider.InstallCommand {
				t.Errorf("%s: %q does not ask for the exact version", method, text)
			}
		}
	}
}
