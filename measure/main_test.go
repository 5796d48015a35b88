package measure

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/provider-measure/provider-measure/internal/testenv"
	"github.com/provider-measure/provider-measure/probe"
	"github.com/provider-measure/provider-measure/provider"
)

func TestMain(m *testing.M) {
	flag.Bool("update", false, "write testdata/*.golden anew")
	goleak.VerifyTestMain(m)
}

func updating() bool { return flag.Lookup("update").Value.String() == "true" }

// tempDir is a temporary folder that nobody else may write, links resolved.
func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func write(t testing.TB, path, text string, mode os.FileMode) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// toolScript is a small provider: an executable with a version, a start, a case
// with a known answer, and ways to go wrong.
const toolScript = `#!/bin/sh
case "$1" in
--version) echo "tool 1.2.3" ;;
start) exit 0 ;;
solve) while read -r line; do echo "sat $line"; done ;;
fail) echo "no licence" >&2; exit 3 ;;
hang) while :; do :; done ;;
die) kill -9 $$ ;;
install) mkdir -p "$2/a/b" && echo 12345 >"$2/a/one" && ln "$2/a/one" "$2/a/b/two" && ln -s /etc "$2/a/link" ;;
esac
`

// toolManifest declares the tool; %s takes what follows [identity].
const toolManifest = `manifest_version = 1
[provider]
id = "tests.tool"
title = "Tool"
version = "1.2.3"
install_tier = "T2"
license_id = "MIT"
features = ["sat"]
[identity]
kind = "EXECUTABLE"
executable = "{tool}"
[runtime]
argv = ["${executable}"]
timeout_secs = 20
[probes.health]
argv = ["${executable}", "--version"]
[probes.health.expect.stdout]
matches = '''\Atool (?P<version>[0-9.]+)\n\z'''
`

const coldStartProbe = `[probes.cold_start]
argv = ["${executable}", "start"]
`

const reproductionProbe = `[probes.reproduction]
argv = ["${executable}", "solve"]
stdin = "p\nq\n"
[probes.reproduction.expect.stdout]
equals = "sat p\nsat q\n"
`

const capabilityTable = `[[capabilities]]
id = "sat.solve"
version = "1"
title = "Solve"
description = "Solves."
input_schema = "schema.json"
output_schema = "schema.json"
`

// tool is the tool as installed for one test.
type tool struct {
	dir, exe, scratch string
	env               map[string]string
}

func newTool(t testing.TB) *tool {
	t.Helper()
	dir := tempDir(t)
	return &tool{
		dir: dir, exe: write(t, filepath.Join(dir, "bin", "tool"), toolScript, 0o755),
		scratch: tempDir(t), env: map[string]string{},
	}
}

// host offers the tool with more tables in its manifest; run may be nil.
func (x *tool) host(t testing.TB, more string, run func(context.Context, probe.Spec) (*probe.Result, error)) *provider.Host {
	t.Helper()
	return x.hostOf(t, strings.ReplaceAll(toolManifest, "{tool}", x.exe)+more+capabilityTable, run)
}

// hostOf offers what a whole manifest declares.
func (x *tool) hostOf(t testing.TB, manifest string, run func(context.Context, probe.Spec) (*probe.Result, error)) *provider.Host {
	t.Helper()
	manifests := filepath.Join(x.dir, "manifests")
	write(t, filepath.Join(manifests, "schema.json"), `{"type":"object"}`, 0o644)
	write(t, filepath.Join(manifests, "tool.toml"), manifest, 0o644)
	list, err := provider.LoadManifestDir(manifests)
	if err != nil {
		t.Fatal(err)
	}
	set, err := provider.NewSet(list...)
	if err != nil {
		t.Fatal(err)
	}
	return provider.NewHost(set, provider.HostOptions{Lookup: x.lookup, TempDir: x.scratch, Run: run})
}

func (x *tool) lookup(name string) (string, bool) {
	value, ok := x.env[name]
	return value, ok
}

// nothingLeft fails the test for anything left in the folder of scratch
// directories.
func (x *tool) nothingLeft(t testing.TB) {
	t.Helper()
	entries, err := os.ReadDir(x.scratch)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		t.Errorf("%s was left behind", e.Name())
	}
}

// measured fails the test when there is no record, and holds what is true of all.
func measured(t testing.TB, h *provider.Host, opts Options) *Record {
	t.Helper()
	r, err := Measure(t.Context(), h, "sat.solve", opts)
	if err != nil {
		t.Fatalf("%v (%#v)", err, err)
	}
	checkRecord(t, r)
	return r
}

// checkRecord: it is valid, prints, parses back to itself, and fits the schema.
func checkRecord(t testing.TB, r *Record) []byte {
	t.Helper()
	data, err := r.JSON()
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParseRecord(data)
	if err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	printed, err := again.JSON()
	if err != nil || string(printed) != string(data) {
		t.Fatalf("printed again (%v):\n%s\n%s", err, printed, data)
	}
	if err := validateSchema(t, data); err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	standard, err := json.Marshal(r) // what a caller would use
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ParseRecord(standard); err != nil {
		t.Errorf("encoding/json prints what does not parse: %v", err)
	}
	return data
}

// fails asserts a part that is ERROR or SKIPPED with a detail that begins with a
// code.
func fails(t testing.TB, status Status, detail *string, want Status, code error, says ...string) {
	t.Helper()
	if status != want || detail == nil {
		t.Fatalf("status %s, detail %v; want %s with a detail", status, show(detail), want)
	}
	if code != nil && !strings.HasPrefix(*detail, code.Error()+": ") {
		t.Errorf("detail %q does not begin with %s", *detail, code)
	}
	for _, part := range says {
		if !strings.Contains(*detail, part) {
			t.Errorf("detail %q lacks %q", *detail, part)
		}
	}
}

func show(s *string) string {
	if s == nil {
		return "null"
	}
	return fmt.Sprintf("%q", *s)
}

// providerCode asserts a *provider.Error with a code.
func providerCode(t testing.TB, err error, code provider.Code) *provider.Error {
	t.Helper()
	var pe *provider.Error
	if !errors.As(err, &pe) || !errors.Is(err, code) {
		t.Fatalf("got %v, want a *provider.Error with %s", err, code)
	}
	return pe
}

// afterRun is probe.Run that calls then after the n-th run of a program with arg
// among its arguments.
func afterRun(arg string, n int32, then func()) func(context.Context, probe.Spec) (*probe.Result, error) {
	var count atomic.Int32
	return func(ctx context.Context, spec probe.Spec) (*probe.Result, error) {
		result, err := probe.Run(ctx, spec)
		for _, a := range spec.Args {
			if a == arg && count.Add(1) == n {
				then()
			}
		}
		return result, err
	}
}

// fakeRun answers runs with arg among their arguments by results in turn, the
// last one for ever, and runs the rest for real.
func fakeRun(arg string, results ...*probe.Result) func(context.Context, probe.Spec) (*probe.Result, error) {
	var count atomic.Int32
	return func(ctx context.Context, spec probe.Spec) (*probe.Result, error) {
		for _, a := range spec.Args {
			if a == arg {
				return results[min(int(count.Add(1)), len(results))-1], nil
			}
		}
		return probe.Run(ctx, spec)
	}
}

// hostPython is an interpreter of this machine that is no script.
func hostPython(t testing.TB) *provider.Python {
	t.Helper()
	set, err := provider.NewSet()
	if err != nil {
		t.Fatal(err)
	}
	p, err := provider.NewHost(set, provider.HostOptions{Lookup: func(name string) (string, bool) {
		return os.Getenv(name), name == "PATH"
	}}).Python(t.Context())
	if err != nil {
		testenv.Skip(t, "python", err.Error())
	}
	if p.Executable, err = filepath.EvalSymlinks(p.Executable); err != nil {
		t.Fatal(err)
	}
	return p
}

// venv makes an environment by hand, which sees the base's packages (pip among
// them), and returns its folder and its site-packages.
func venv(t testing.TB) (dir, site string) {
	t.Helper()
	base := hostPython(t)
	dir = tempDir(t)
	minor := regexp.MustCompile(`^3\.\d+`).FindString(base.Version)
	write(t, filepath.Join(dir, "pyvenv.cfg"), fmt.Sprintf("home = %s\nversion = %s\ninclude-system-site-packages = true\n", filepath.Dir(base.Executable), base.Version), 0o644)
	if err := os.MkdirAll(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(base.Executable, filepath.Join(dir, "bin", "python3")); err != nil {
		t.Fatal(err)
	}
	site = filepath.Join(dir, "lib", "python"+minor, "site-packages")
	if err := os.MkdirAll(site, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir, site
}

func ptr[T any](v T) *T { return &v }
