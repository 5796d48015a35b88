package provider

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/provider-measure/provider-measure/digest"
	"github.com/provider-measure/provider-measure/internal/testenv"
	"github.com/provider-measure/provider-measure/probe"
)

// toolManifest declares an executable whose health probe prints v1.0.0.
func toolManifest(t testing.TB, executable, more string) *Manifest {
	t.Helper()
	return manifest(t, tempDir(t), header("tests.tool", "1.0.0")+"[identity]\nkind = 'EXECUTABLE'\nexecutable = '"+executable+"'\n"+more+
		"[probes.health]\nargv = ['${executable}', '--version']\npath = ['/usr/bin', '/bin']\ntimeout_secs = 20\n[probes.health.expect.stdout]\nmatches = '^v(?P<version>[0-9.]+)\\n$'\n")
}

const goodTool = "#!/bin/sh\necho v1.0.0\n"

func pathHost(t testing.TB, path string, more ...string) *Host {
	t.Helper()
	return NewHost(nil, HostOptions{Lookup: environment(append([]string{"PATH", path}, more...)...), TempDir: t.TempDir()})
}

func TestExecutableOnPath(t *testing.T) {
	dir, other := tempDir(t), tempDir(t)
	real := script(t, filepath.Join(dir, "real", "tool-1.0"), goodTool)
	symlink(t, "../real/tool-1.0", filepath.Join(dir, "bin", "tool"))
	script(t, filepath.Join(other, "tool"), "#!/bin/sh\necho v9\n")
	write(t, filepath.Join(dir, "plain", "tool"), goodTool)
	if err := os.MkdirAll(filepath.Join(dir, "folder", "tool"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(other)
	m := toolManifest(t, "tool", "")
	// Relative and empty entries would find ./tool; what is not an executable
	// file is passed over.
	search := strings.Join([]string{"", ".", filepath.Base(other), filepath.Join(dir, "none"), filepath.Join(dir, "plain"), filepath.Join(dir, "folder"), filepath.Join(dir, "bin"), other}, ":")
	id := identifyAvailable(t, pathHost(t, search), m)
	wantDigest := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(goodTool)))
	got := id.Runtime.Record()
	if string(got.Configuration) != `{"executable":"`+real+`"}` || id.Runtime.Digest().String() != wantDigest || *got.Version != "1.0.0" || *got.DigestKind != digest.ExecutableKind {
		t.Errorf("record %+v, configuration %s", got, got.Configuration)
	}
	if got.ImportName != nil || len(got.LicenseFiles) != 0 || id.Measured.Executable.Path != real || id.Health == nil {
		t.Errorf("record %+v", got)
	}
	for _, path := range []string{"", ".:", filepath.Join(dir, "plain"), filepath.Join(dir, "none")} {
		want{CodeUnavailable, ReasonExecutableMissing, []string{`"tool" is not on PATH`}, "put its folder on PATH", ""}.check(t, identify(t, pathHost(t, path), m).Failure)
	}
	absolute := toolManifest(t, filepath.Join(dir, "bin", "tool"), "")
	if id := identifyAvailable(t, pathHost(t, ""), absolute); id.Measured.Executable.Path != real {
		t.Errorf("measured %s", id.Measured.Executable.Path)
	}
	for name, reason := range map[string]error{"none": digest.CodeNotFound, "folder/tool": digest.CodeNotRegular} {
		want{CodeUnavailable, reason, nil, "", ""}.check(t, identify(t, pathHost(t, ""), toolManifest(t, filepath.Join(dir, name), "")).Failure)
	}
}

// The pin is compared before anything of the file runs.
func TestExecutablePin(t *testing.T) {
	ran := 0
	tool := script(t, filepath.Join(tempDir(t), "tool"), goodTool)
	h := NewHost(nil, HostOptions{Run: countRuns(&ran)})
	pin := func(d string) *Manifest { return toolManifest(t, tool, "digest = { "+h.Platform()+" = '"+d+"' }\n") }
	want{CodeUnavailable, ReasonDigestPin, []string{sampleDigest}, "pinned build", tool}.check(t, identify(t, h, pin(sampleDigest)).Failure)
	if ran != 0 {
		t.Errorf("%d processes ran", ran)
	}
	identifyAvailable(t, h, pin(fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(goodTool)))))
	// A pin for another platform binds nothing here.
	other := "linux-s390x"
	if h.Platform() == other {
		other = "linux-x86_64"
	}
	id := identifyAvailable(t, h, toolManifest(t, tool, "digest = { "+other+" = '"+sampleDigest+"' }\n"))
	if len(id.Warnings) != 1 || !strings.Contains(id.Warnings[0], "none for this platform, "+h.Platform()) {
		t.Errorf("warnings %q", id.Warnings)
	}
}

func TestExecutableHealth(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		more       string // of the probe's table
		want       want
	}{
		{"version skew", "#!/bin/sh\necho v2.0.0\n", "", want{CodeUnavailable, ReasonVersionSkew, []string{"version 2.0.0 is installed, the manifest pins 1.0.0"}, "install version 1.0.0", "tool"}},
		{"version skew and more", "#!/bin/sh\necho v2.0.0\nexit 3\n", "", want{CodeUnavailable, ReasonVersionSkew, []string{"version 2.0.0"}, "", ""}},
		{"exit code", "#!/bin/sh\necho v1.0.0\nexit 3\n", "", want{CodeUnavailable, ReasonProbeUnexpected, []string{"health probe: exit code is 3, want 0"}, "", "tool"}},
		{"other stream", "#!/bin/sh\necho v1.0.0 >&2\n", "", want{CodeUnavailable, ReasonProbeUnexpected, []string{"stdout does not match", "stdout empty", `stderr "v1.0.0\n"`}, "", ""}},
		{"both streams", "#!/bin/sh\necho out; echo err >&2\n", "", want{CodeUnavailable, ReasonProbeUnexpected, []string{`stdout "out\n"`, `stderr "err\n"`}, "", ""}},
		{"control characters", "#!/bin/sh\nprintf '\\033[2Jx\\377'\n", "", want{CodeUnavailable, ReasonProbeUnexpected, []string{`"\x1b[2Jx\ufffd"`}, "", ""}},
		{"long output", "#!/bin/sh\ni=0; while [ $i -lt 200 ]; do printf 0123456789; i=$((i+1)); done\n", "", want{CodeUnavailable, ReasonProbeUnexpected, []string{"0123456789\" … \""}, "", ""}},
		{"signal", "#!/bin/sh\nkill -SEGV $$\n", "", want{CodeUnavailable, ReasonProbeFailed, []string{"ended by SIGSEGV"}, "", ""}},
		{"no interpreter", "#!/nonexistent/sh\n", "", want{CodeUnavailable, probe.CodeStartInterpreter, []string{"could not be started", "/nonexistent/sh"}, "", ""}},
		{"no shebang", "echo v1.0.0\n", "", want{CodeUnavailable, probe.CodeStartFormat, []string{"could not be started"}, "", ""}},
		{"empty", "", "", want{CodeUnavailable, probe.CodeStartFormat, []string{"could not be started"}, "", ""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tool := script(t, filepath.Join(tempDir(t), "tool"), tt.text)
			id := identify(t, pathHost(t, ""), toolManifest(t, tool, ""))
			tt.want.check(t, id.Failure)
			if id.Health == nil || id.Measured.Executable == nil {
				t.Error("the evidence is lost")
			}
		})
	}
}

// probeInput copies a probe case to where an ordinary user may run it.
func probeInput(t *testing.T, name string) string {
	t.Helper()
	return filepath.Join(testenv.CopyTree(t, input(t, "probe")), name)
}

func TestExecutableReportedProbes(t *testing.T) {
	for _, tt := range []struct {
		name string
		want want
	}{
		{"dies-by-signal", want{CodeUnavailable, ReasonProbeFailed, []string{"SIGSEGV"}, "", "dies-by-signal"}},
		{"flood", want{CodeUnavailable, ReasonProbeFailed, []string{"OUTPUT_LIMIT_EXCEEDED"}, "", "flood"}},
		{"no-shebang", want{CodeUnavailable, probe.CodeStartFormat, []string{"could not be started"}, "", ""}},
		{"not-executable", want{CodeUnavailable, probe.CodeStartPermission, []string{"could not be started"}, "", ""}},
		{"version-stderr", want{CodeUnavailable, ReasonProbeUnexpected, []string{`stderr "v1.0.0\n"`}, "", ""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.want.check(t, identify(t, pathHost(t, ""), toolManifest(t, probeInput(t, tt.name), "")).Failure)
		})
	}
	for _, name := range []string{"grandchild-holds-pipe", "stderr-64k-then-ok"} {
		identifyAvailable(t, pathHost(t, ""), toolManifest(t, probeInput(t, name), ""))
	}
	text := strings.Replace(manifestText(toolManifestText("x"), probeInput(t, "version-stderr")), "expect.stdout", "expect.stderr", 1)
	identifyAvailable(t, pathHost(t, ""), manifest(t, tempDir(t), text))
	text = strings.Replace(manifestText(toolManifestText("x"), probeInput(t, "ignores-term")), "timeout_secs = 20", "timeout_secs = 1", 1)
	start := time.Now()
	want{CodeUnavailable, ReasonProbeFailed, []string{"TIMED_OUT after 1"}, "", ""}.check(t, identify(t, pathHost(t, ""), manifest(t, tempDir(t), text)).Failure)
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("took %v", took)
	}
}

func toolManifestText(executable string) string {
	return header("tests.tool", "1.0.0") + "[identity]\nkind = 'EXECUTABLE'\nexecutable = '" + executable + "'\n" +
		"[probes.health]\nargv = ['${executable}', '--version']\npath = ['/usr/bin', '/bin']\ntimeout_secs = 20\n[probes.health.expect.stdout]\nmatches = '^v(?P<version>[0-9.]+)\\n$'\n"
}

func manifestText(text, executable string) string {
	return strings.Replace(text, "executable = 'x'", "executable = '"+executable+"'", 1)
}

// An optional group may match and tell nothing.
func TestExecutableTellsNoVersion(t *testing.T) {
	tool := script(t, filepath.Join(tempDir(t), "tool"), "#!/bin/sh\necho tool\n")
	text := strings.Replace(manifestText(toolManifestText("x"), tool), `^v(?P<version>[0-9.]+)\n$`, `^tool(?P<version>[0-9.]*)`, 1)
	want{CodeUnavailable, ReasonVersionUnknown, []string{"told no version"}, "", ""}.check(t, identify(t, pathHost(t, ""), manifest(t, tempDir(t), text)).Failure)
}

// A variable that looks like a credential is withheld though it is admitted, and
// the failure says so, by name and never by value.
func TestWithheldNamesAreReported(t *testing.T) {
	tool := script(t, filepath.Join(tempDir(t), "tool"), "#!/bin/sh\nset -u\n: \"$TOOL_API_KEY\"\necho v1.0.0\n")
	m := manifest(t, tempDir(t), strings.Replace(manifestText(toolManifestText("x"), tool), "timeout_secs = 20\n", "timeout_secs = 20\nenv = ['TOOL_API_KEY', 'TOOL_HOME']\n", 1))
	id := identify(t, pathHost(t, "", "TOOL_API_KEY", "hunter2", "TOOL_HOME", "/srv"), m)
	want{CodeUnavailable, ReasonProbeUnexpected, []string{"withheld from its environment: TOOL_API_KEY"}, "", ""}.check(t, id.Failure)
	if strings.Contains(string(encode(t, id.Runtime)), "hunter2") {
		t.Error("the value is in the record")
	}
	// HOME is there: the scratch folder.
	identifyAvailable(t, pathHost(t, ""), toolManifest(t, probeInput(t, "needs-home"), ""))
}

// replaceBefore puts another program in the tool's place just before the run.
func replaceBefore(t *testing.T, tool, text string) runFunc {
	return func(ctx context.Context, spec probe.Spec) (*probe.Result, error) {
		next := script(t, tool+".next", text)
		if err := os.Rename(next, tool); err != nil {
			t.Error(err)
		}
		return probe.Run(ctx, spec)
	}
}

func TestExecutableReplacedBeforeItRuns(t *testing.T) {
	dir := tempDir(t)
	tool := script(t, filepath.Join(dir, "tool"), goodTool)
	evil := "#!/bin/sh\necho ran >&2\necho v1.0.0\n"
	h := NewHost(nil, HostOptions{Run: replaceBefore(t, tool, evil)})
	id := identify(t, h, toolManifest(t, tool, ""))
	want{CodeIdentityChanged, ReasonDigestDiffers, []string{"no longer the file that was measured"}, "", tool}.check(t, id.Failure)
	if len(id.Health.Stdout) != 0 || len(id.Health.Stderr) != 0 {
		t.Errorf("it ran: %q %q", id.Health.Stdout, id.Health.Stderr)
	}
	// Started by a link to the measured file it is held to it just the same.
	tool = script(t, filepath.Join(dir, "tool2"), goodTool)
	symlink(t, "tool2", filepath.Join(dir, "link"))
	text := strings.Replace(manifestText(toolManifestText("x"), tool), "'${executable}', '--version'", "'"+filepath.Join(dir, "link")+"', '--version'", 1)
	identifyAvailable(t, NewHost(nil, HostOptions{}), manifest(t, dir, text))
	h = NewHost(nil, HostOptions{Run: replaceBefore(t, tool, evil)})
	want{code: CodeIdentityChanged, reason: ReasonDigestDiffers}.check(t, identify(t, h, manifest(t, dir, text)).Failure)
}

func TestRevalidateExecutable(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(t *testing.T, tool string)
		want *want
	}{
		{"unchanged", func(*testing.T, string) {}, nil},
		{"touched", func(t *testing.T, tool string) { chtimes(t, tool) }, nil},
		{"edited", func(t *testing.T, tool string) { appendTo(t, tool, "#") }, &want{CodeIdentityChanged, ReasonDigestDiffers, []string{"recorded sha256:"}, "", "tool"}},
		{"gone", func(t *testing.T, tool string) { remove(t, tool) }, &want{CodeUnavailable, digest.CodeNotFound, nil, "", "tool"}},
		{"a folder", func(t *testing.T, tool string) { remove(t, tool); mkdir(t, tool) }, &want{CodeUnavailable, digest.CodeNotRegular, nil, "", "tool"}},
		{"a link to the same bytes", func(t *testing.T, tool string) {
			rename(t, filepath.Dir(tool), "tool", "moved")
			symlink(t, "moved", tool)
		}, &want{CodeIdentityChanged, ReasonDigestDiffers, []string{"has become a link"}, "", "tool"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tool := script(t, filepath.Join(tempDir(t), "tool"), goodTool)
			rt := identifyAvailable(t, NewHost(nil, HostOptions{}), toolManifest(t, tool, "")).Runtime
			tt.do(t, tool)
			ran := 0
			err := NewHost(nil, HostOptions{Run: countRuns(&ran)}).Revalidate(t.Context(), rt)
			if ran != 0 {
				t.Error("something ran")
			}
			if tt.want == nil {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			tt.want.check(t, err)
		})
	}
}

func chtimes(t *testing.T, path string) {
	t.Helper()
	if err := os.Chtimes(path, time.Unix(1, 0), time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
}

func mkdir(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestReadyExecutable(t *testing.T) {
	dir := tempDir(t)
	tool := script(t, filepath.Join(dir, "tool"), goodTool)
	m := toolManifest(t, tool, "")
	h := NewHost(nil, HostOptions{})
	id := identifyAvailable(t, h, m)
	if err := h.Ready(t.Context(), m, id.Runtime, id.Measured); err != nil {
		t.Error(err)
	}
	// From a record that was read back: with and without the manifest.
	for _, m := range []*Manifest{m, nil} {
		if err := h.Ready(t.Context(), m, id.Runtime, Measured{}); err != nil {
			t.Error(err)
		}
	}
	appendTo(t, tool, "echo more\n")
	want{code: CodeIdentityChanged, reason: ReasonDigestDiffers}.check(t, h.Ready(t.Context(), m, id.Runtime, Measured{}))
	want{code: CodeIdentityChanged, reason: ReasonDigestDiffers}.check(t, h.Ready(t.Context(), m, id.Runtime, id.Measured))
	second := identify(t, h, m) // it now answers otherwise
	want{code: CodeUnavailable, reason: ReasonRecordUnavailable, says: []string{"health probe"}}.check(t, h.Ready(t.Context(), m, second.Runtime, second.Measured))
	if err := os.Chmod(tool, 0o644); err != nil {
		t.Fatal(err)
	}
	want{CodeReadinessFailed, ReasonExecutableMissing, []string{"no execute permission"}, "chmod +x", "tool"}.check(t, h.Ready(t.Context(), nil, id.Runtime, id.Measured))
	remove(t, tool)
	want{CodeReadinessFailed, ReasonExecutableMissing, []string{"no such file"}, "", "tool"}.check(t, h.Ready(t.Context(), nil, id.Runtime, id.Measured))
	mkdir(t, tool)
	want{CodeReadinessFailed, ReasonExecutableMissing, []string{"not a regular file"}, "", "tool"}.check(t, h.Ready(t.Context(), nil, id.Runtime, id.Measured))
}

func TestReadyProbe(t *testing.T) {
	tool := script(t, filepath.Join(tempDir(t), "tool"), "#!/bin/sh\n[ \"$1\" = --ready ] && exit 4\necho v1.0.0\n")
	m := manifest(t, tempDir(t), manifestText(toolManifestText("x"), tool)+"[probes.readiness]\nargv = ['${executable}', '--ready']\n")
	h := NewHost(nil, HostOptions{})
	id := identifyAvailable(t, h, m)
	want{CodeReadinessFailed, ReasonProbeUnexpected, []string{"exit code is 4, want 0"}, "", ""}.check(t, h.Ready(t.Context(), m, id.Runtime, id.Measured))
}

// A path that JSON in NFC can't hold could not be measured again.
func TestUnrepresentablePath(t *testing.T) {
	for _, name := range []string{"cafe\u0301", "\xff"} {
		dir := filepath.Join(tempDir(t), name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			testenv.Skip(t, "filenames", "this file system refuses the name: "+err.Error())
		}
		script(t, filepath.Join(dir, "tool"), goodTool)
		want{CodeIdentityIncomplete, ReasonPathUnrepresentable, []string{"form NFC"}, "plain name", "tool"}.check(t, identify(t, pathHost(t, dir), toolManifest(t, "tool", "")).Failure)
	}
	dir := filepath.Join(tempDir(t), "caf\u00e9 ${executable}")
	tool := script(t, filepath.Join(dir, "tool"), goodTool)
	if id := identifyAvailable(t, pathHost(t, dir), toolManifest(t, "tool", "")); id.Measured.Executable.Path != tool {
		t.Errorf("measured %s", id.Measured.Executable.Path)
	}
	dir = filepath.Join(tempDir(t), "${scratch}")
	script(t, filepath.Join(dir, "tool"), goodTool)
	want{CodeUnavailable, ReasonProbeFailed, []string{"${scratch}"}, "", ""}.check(t, identify(t, pathHost(t, dir), toolManifest(t, "tool", "")).Failure)
}

func TestProbeSetup(t *testing.T) {
	tool := script(t, filepath.Join(tempDir(t), "tool"), goodTool)
	m := toolManifest(t, tool, "")
	refused := &probe.Error{Code: probe.CodeNotEnforceable, Op: "enforce", Path: "memory"}
	h := NewHost(nil, HostOptions{Run: failRun(refused)})
	want{CodeUnavailable, probe.CodeNotEnforceable, []string{"health probe"}, "doctor", ""}.check(t, identify(t, h, m).Failure)
	h = NewHost(nil, HostOptions{Run: failRun(errors.New("odd"))})
	want{CodeUnavailable, ReasonProbeFailed, []string{"odd"}, "", ""}.check(t, identify(t, h, m).Failure)

	// A folder that can't be interpolated must not vanish from the restriction.
	text := strings.Replace(distText(), "tests.demo", "tests.iso", 1) + "[runtime]\nargv = ['/bin/true']\n[isolation]\nread = ['${python}']\n"
	h = NewHost(nil, HostOptions{Lookup: environment("PATH", "")})
	_, err := h.Spec(t.Context(), manifest(t, tempDir(t), text), Measured{}, Command{Argv: []string{"/bin/true"}})
	if !errors.Is(err, ReasonPythonMissing) {
		t.Errorf("got %v", err)
	}
	nowhere, err := ParseManifest([]byte(distText()+"[isolation]\nread = ['${manifest_dir}']\n"), ManifestSource{File: "x.toml", Origin: BuiltIn})
	if err != nil {
		t.Fatal(err)
	}
	if spec, err := h.Spec(t.Context(), nowhere, Measured{}, Command{Argv: []string{"/bin/true"}}); err == nil {
		t.Errorf("the restriction to read ${manifest_dir} became %q", spec.Isolation.Read)
	}
	if _, err := h.Spec(t.Context(), m, Measured{}, Command{}); err == nil {
		t.Error("a command without arguments")
	}
}

func TestSpec(t *testing.T) {
	tool := script(t, filepath.Join(tempDir(t), "tool"), goodTool)
	m := manifest(t, tempDir(t), manifestText(toolManifestText("x"), tool)+"[runtime]\nargv = ['${executable}', '${manifest_dir}/x', '${scratch}/y']\nset = { B = '${executable}', A = '1' }\nenv = ['E']\n[isolation]\nnetwork = 'allow'\nrequire = ['writes']\nwrite = ['${manifest_dir}']\n")
	h := NewHost(nil, HostOptions{TempDir: "/scratch"})
	exe, err := digest.Executable(t.Context(), tool)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := h.Spec(t.Context(), m, Measured{Executable: &exe}, m.Runtime)
	if err != nil {
		t.Fatal(err)
	}
	if spec.Path != tool || strings.Join(spec.Args, " ") != tool+" "+m.Dir+"/x ${scratch}/y" || strings.Join(spec.Env.Set, " ") != "A=1 B="+tool ||
		spec.Isolation.Network != probe.NetworkAllow || spec.Isolation.Require[0] != probe.PropertyWrites || spec.Isolation.Write[0] != m.Dir ||
		spec.ScratchParent != "/scratch" || spec.Expect == nil || spec.Expect.Ino != exe.File.Ino || spec.Limits.Wall != m.Runtime.Timeout || spec.Stdin != nil {
		t.Errorf("spec %+v", spec)
	}
}
