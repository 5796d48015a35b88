package provider

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-measure/provider-measure/digest"
	"github.com/provider-measure/provider-measure/internal/canonjson"
	"github.com/provider-measure/provider-measure/internal/stricttoml"
)

func TestParseManifest(t *testing.T) {
	for _, tt := range manifestEdits() {
		t.Run(tt.name, func(t *testing.T) {
			m, err := parse(tt.text(t))
			if tt.reason == nil {
				if err != nil {
					t.Fatal(err)
				}
				checkManifest(t, m)
				return
			}
			var e *ManifestError
			if !errors.As(err, &e) || !errors.Is(err, tt.reason) || m != nil {
				t.Fatalf("got %v, want %s", err, tt.reason)
			}
			if line, column := tt.place(t); line != 0 && (e.Line != line || e.Column != column) {
				t.Errorf("at %d:%d, want %d:%d: %v", e.Line, e.Column, line, column, err)
			}
			if (tt.key != "" && e.Key != tt.key) || e.Nearest != tt.nearest || e.File != "m.toml" {
				t.Errorf("key %q, nearest %q, want %q and %q: %v", e.Key, e.Nearest, tt.key, tt.nearest, err)
			}
			if !strings.Contains(err.Error(), tt.says) || !strings.HasPrefix(err.Error(), "m.toml") {
				t.Errorf("message lacks %q: %v", tt.says, err)
			}
			for range 5 {
				if _, again := parse(tt.text(t)); again.Error() != err.Error() {
					t.Fatalf("another time: %v, then %v", err, again)
				}
			}
		})
	}
}

// The handed-over TOML cases, put where a manifest has room for them.
func TestParseManifestReportedInputs(t *testing.T) {
	for _, tt := range []struct {
		name   string
		reason stricttoml.Code
		line   int
	}{
		{"typo", stricttoml.CodeUnknownKey, 1},
		{"dup", stricttoml.CodeUnknownKey, 1},
		{"case-dup", stricttoml.CodeUnknownKey, 1},
		{"badutf8", stricttoml.CodeInvalidUTF8, 1},
		{"bigint", stricttoml.CodeUnknownKey, 1},
	} {
		_, err := parse(toml5(t, tt.name))
		var e *ManifestError
		if !errors.As(err, &e) || e.Reason != tt.reason || e.Line != tt.line {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	// In a table of free keys the same bytes are judged by themselves.
	for _, tt := range []struct {
		name   string
		reason error
		line   int // below the table's header
	}{
		{"dup", stricttoml.CodeDuplicateKey, 2},
		{"case-dup", stricttoml.CodeFoldedKey, 2},
		{"badutf8", stricttoml.CodeInvalidUTF8, 1},
		{"bigint", stricttoml.CodeWrongType, 1},
	} {
		before := full + "[[capabilities.examples]]\nname = 'two'\ndescription = 'x'\n[capabilities.examples.input]\n"
		_, err := parse(before + toml5(t, tt.name))
		var e *ManifestError
		if !errors.As(err, &e) || !errors.Is(err, tt.reason) || e.Line != strings.Count(before, "\n")+tt.line || e.Column == 0 {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func TestParseManifestValues(t *testing.T) {
	m, err := parse(full)
	if err != nil {
		t.Fatal(err)
	}
	want := Command{
		Argv: []string{"${executable}", "--serve"}, Timeout: 7 * time.Second, Env: []string{"HTTP_PROXY"},
		Set: map[string]string{"A": "${manifest_dir}/x"}, Path: []string{"/bin", "${scratch}"},
	}
	if diff := cmp.Diff(want, m.Runtime); diff != "" {
		t.Error(diff)
	}
	health := want
	health.Argv = []string{"${executable}", "--version"}
	readiness := Command{Argv: want.Argv, Timeout: 9 * time.Second, Env: []string{}, Set: map[string]string{}, Path: []string{}}
	reproduction := want
	reproduction.Stdin = "${x} is no interpolation"
	for _, tt := range []struct {
		name string
		want Command
		got  *Probe
	}{{"health", health, m.Probes.Health}, {"readiness", readiness, m.Probes.Readiness}, {"reproduction", reproduction, m.Probes.Reproduction}} {
		if diff := cmp.Diff(tt.want, tt.got.Command); diff != "" {
			t.Error(tt.name, diff)
		}
	}
	if m.Probes.ColdStart != nil {
		t.Error("a probe out of nothing")
	}
	e := m.Probes.Health.Expect
	if e.Exit != 3 || *e.Stdout.Equals != "v1\n" || string(e.Stdout.JSON) != `{"a":[1,true]}` || *e.Stderr.Equals != "" || e.Stderr.Contains != nil {
		t.Errorf("expect %+v", e)
	}
	c := m.Capabilities[0]
	if string(c.OutputSchema) != `{"type":"object"}` || c.Examples[0].Mode != Verify || string(c.Examples[0].Input) != `{"n":1}` {
		t.Errorf("capability %+v", c)
	}
	if m.Install.Version != "1.0" || m.Install.Timeout != time.Minute || m.Origin != Operator || m.Dir != "/m" {
		t.Errorf("manifest %+v", m)
	}
	plain, err := parse(distText() + "[[capabilities]]\nid='a.b'\nversion='1'\ntitle='x'\ndescription='x'\ninput_schema='schemas/in.json'\noutput_schema='schemas/in.json'\n[[capabilities.examples]]\nname='x'\ndescription='x'\ninput={}\n")
	if err != nil {
		t.Fatal(err)
	}
	c = plain.Capabilities[0]
	if diff := cmp.Diff([]Mode{Explore}, c.Modes); diff != "" || c.InputKinds[0] != "STRUCTURED_REQUEST" || c.Examples[0].Mode != Explore {
		t.Errorf("defaults of a capability: %+v", c)
	}
	if plain.Runtime.Timeout != defaultProbeTimeout || plain.Install != nil {
		t.Errorf("defaults: %+v", plain.Runtime)
	}
}

// checkManifest holds what every accepted manifest promises to its readers.
func checkManifest(t testing.TB, m *Manifest) {
	t.Helper()
	if !ValidProviderID(m.ID) || m.Title == "" || m.Version == "" || !m.InstallTier.valid() || m.LicenseID == "" || !m.Identity.Kind.Valid() {
		t.Errorf("provider %+v", m)
	}
	switch m.Identity.Kind {
	case digest.ExecutableKind:
		if m.Identity.Executable == "" || !m.Probes.Health.Expect.namesVersion() {
			t.Errorf("executable %+v", m.Identity)
		}
	case digest.SourceTree:
		if (m.Identity.Root == "") == (m.Identity.Entrypoint == "") {
			t.Errorf("tree %+v", m.Identity)
		}
	case digest.PythonRecord:
		if m.Identity.Distribution == "" || m.Identity.ImportName == "" {
			t.Errorf("record %+v", m.Identity)
		}
	case digest.CompositeKind:
		if len(m.Identity.Components) == 0 || m.Version != CompositeVersion {
			t.Errorf("composite %+v", m.Identity)
		}
	}
	for _, p := range []*Probe{m.Probes.Health, m.Probes.Readiness, m.Probes.ColdStart, m.Probes.Reproduction, {Command: m.Runtime}} {
		if p == nil {
			continue
		}
		if p.Timeout < time.Second || p.Timeout > maxTimeoutSecs*time.Second || (p.Command.Argv != nil && len(p.Argv) > maxArgv) {
			t.Errorf("command %+v", p.Command)
		}
		for i, arg := range p.Argv {
			if checkInterpolations(arg) != nil || len(arg) > maxArg || (i == 0 && !filepath.IsAbs(arg) && !strings.HasPrefix(arg, "${")) {
				t.Errorf("argument %q", arg)
			}
		}
	}
	for _, c := range m.Capabilities {
		if !ValidCapabilityID(c.ID) || len(c.Modes) == 0 || c.InputSchema.Kind() != '{' || c.OutputSchema.Kind() != '{' {
			t.Errorf("capability %+v", c)
		}
		for _, e := range c.Examples {
			if canonical, err := canonjson.Canonicalize(e.Input); err != nil || string(canonical) != string(e.Input) || e.Input.Kind() != '{' {
				t.Errorf("example %+v: %v", e, err)
			}
		}
	}
	// The record of an absent provider can always be made.
	h := &Host{platform: HostPlatform()}
	if _, err := NewRuntime(unavailable(h.record(m), "")); err != nil {
		t.Error(err)
	}
}

func FuzzParseManifest(f *testing.F) {
	accepted := 0
	for _, tt := range manifestEdits() {
		text := tt.text(f)
		if len(text) > 64<<10 {
			continue
		}
		if _, err := parse(text); err == nil {
			accepted++
		}
		f.Add([]byte(text))
	}
	if accepted < 5 {
		f.Fatalf("only %d seeds are manifests", accepted)
	}
	source := ManifestSource{File: "m.toml", Dir: "/m", FS: manifestFiles(), Origin: Operator}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := ParseManifest(data, source)
		if err == nil {
			checkManifest(t, m)
			return
		}
		var e *ManifestError
		if !errors.As(err, &e) || m != nil || e.Reason == nil || e.File != "m.toml" {
			t.Fatalf("%v beside %v", err, m)
		}
		if (e.Line > 0) != (e.Column > 0) || e.Line > strings.Count(string(data), "\n")+1 {
			t.Fatalf("at %d:%d: %v", e.Line, e.Column, err)
		}
		if e.Key != "" && e.Line == 0 && !errors.Is(err, ReasonManifestMissing) && !errors.Is(err, ReasonManifestInvalid) && !errors.Is(err, ReasonManifestVersion) {
			t.Fatalf("about key %s, without its place: %v", e.Key, err)
		}
	})
}
