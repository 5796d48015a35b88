package builtin_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-measure/provider-measure/internal/testenv"
)

// A child of these tests may take this long; one that takes longer is stuck.
const childLimit = 5 * time.Minute

// real returns a file below .providers, which scripts/providers fills, or skips.
func real(t *testing.T, parts ...string) string {
	t.Helper()
	name := filepath.Join(append([]string{testenv.RepoRoot(t), ".providers"}, parts...)...)
	if _, err := os.Stat(name); err != nil {
		testenv.Skip(t, "provider", filepath.Join(parts...)+" is not prepared; run scripts/providers")
	}
	return name
}

// python returns the interpreter of the prepared environment, or skips when that has
// not got the distribution.
func python(t *testing.T, distribution string) string {
	t.Helper()
	interpreter := real(t, "venv", "bin", "python")
	if distribution == "" {
		return interpreter
	}
	pattern := filepath.Join(testenv.RepoRoot(t), ".providers", "venv", "lib", "python3*", "site-packages", distribution+"-*.dist-info")
	if found, err := filepath.Glob(pattern); err != nil || len(found) == 0 {
		testenv.Skip(t, "provider", distribution+" is not prepared; run scripts/providers")
	}
	return interpreter
}

// executable returns the resolved path of a prepared program, or skips.
func executable(t *testing.T, name string) string {
	t.Helper()
	resolved, err := filepath.EvalSymlinks(real(t, "bin", name))
	if err != nil {
		t.Fatal(err)
	}
	return resolved
}

type child struct {
	Exit           int
	Stdout, Stderr string
}

// run starts a child that gets no environment but env.
func run(t *testing.T, argv []string, stdin string, env ...string) child {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), childLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	scratch := t.TempDir()
	cmd.Dir, cmd.Env = scratch, append([]string{"HOME=" + scratch, "TMPDIR=" + scratch}, env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return child{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// TestPython runs the unit tests of the workers, each with the provider that it needs.
func TestPython(t *testing.T) {
	for _, tt := range []struct{ file, distribution, executable string }{
		{file: "test_protocol.py"},
		{file: "test_smith.py"},
		{file: "test_networkx.py", distribution: "networkx"},
		{file: "test_sympy.py", distribution: "sympy"},
		{file: "test_z3.py", distribution: "z3_solver"},
		{file: "test_cvc5.py", distribution: "cvc5"},
		{file: "test_flint.py", distribution: "python_flint"},
		{file: "test_cadical.py", executable: "cadical"},
		{file: "test_go.py", executable: "go"},
	} {
		t.Run(tt.file, func(t *testing.T) {
			t.Parallel()
			argv := []string{python(t, tt.distribution), "-B", filepath.Join(testenv.RepoRoot(t), "provider", "builtin", "tests", tt.file)}
			var env []string
			if tt.executable != "" {
				env = append(env, "PROVIDER_EXECUTABLE="+executable(t, tt.executable))
			}
			got := run(t, argv, "", env...)
			summary := regexp.MustCompile(`(?m)^Ran [1-9][0-9]* tests? in .*\n\nOK\n\z`)
			// A test that skipped itself would be silently missing: the summary then reads "OK (skipped=1)".
			if got.Exit != 0 || !summary.MatchString(got.Stderr) {
				t.Errorf("exit %d\n%s%s", got.Exit, got.Stdout, got.Stderr)
			}
		})
	}
}

// TestProbes runs every probe of every manifest against the real provider, and compares
// what it prints with what the manifest expects: these are the answers that ship.
func TestProbes(t *testing.T) {
	needs := map[string]string{
		"cvc5": "cvc5", "graph-workers": "networkx", "networkx": "networkx",
		"python-flint": "python_flint", "sympy": "sympy", "z3-solver": "z3_solver",
	}
	for id, m := range manifests(t) {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			replace := []string{"${python}", python(t, needs[id]), "${manifest_dir}", filepath.Join(testenv.RepoRoot(t), "provider", "builtin", "providers")}
			if m.Identity.Kind == "EXECUTABLE" {
				replace = append(replace, "${executable}", executable(t, m.Identity.Executable))
			}
			for _, name := range []string{"health", "readiness", "cold_start", "reproduction"} {
				probe, ok := m.Probes[name]
				if !ok {
					t.Errorf("no probe %s", name)
					continue
				}
				t.Run(name, func(t *testing.T) { checkProbe(t, m, probe, strings.NewReplacer(replace...)) })
			}
		})
	}
}

func checkProbe(t *testing.T, m manifest, probe command, replacer *strings.Replacer) {
	t.Helper()
	argv := probe.Argv
	if len(argv) == 0 {
		argv = m.Runtime.Argv
	}
	expanded := make([]string, len(argv))
	for i, argument := range argv {
		expanded[i] = replacer.Replace(argument)
		if strings.Contains(expanded[i], "${") {
			t.Fatalf("%s is left in %q", expanded[i], argv)
		}
	}
	var env []string
	for name, value := range probe.Set {
		env = append(env, name+"="+value)
	}
	got := run(t, expanded, probe.Stdin, env...)
	if probe.Expect.Exit == nil || got.Exit != *probe.Expect.Exit {
		t.Errorf("exit %d\n%s%s", got.Exit, got.Stdout, got.Stderr)
	}
	if want := probe.Expect.Stdout.Equals; want != nil {
		if diff := cmp.Diff(*want, got.Stdout); diff != "" {
			t.Errorf("standard output (-want +got):\n%s", diff)
		}
	}
	if want := probe.Expect.Stderr.Equals; want != nil && *want != got.Stderr {
		t.Errorf("standard error %q", got.Stderr)
	}
	if want := probe.Expect.Stdout.Matches; want != nil {
		pattern := regexp.MustCompile(*want)
		found := pattern.FindStringSubmatch(got.Stdout)
		if found == nil || found[pattern.SubexpIndex("version")] != m.Provider.Version {
			t.Errorf("standard output %q does not give the version %s", got.Stdout, m.Provider.Version)
		}
	}
}
