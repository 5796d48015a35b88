package catalog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-measure/provider-measure/digest"
	"github.com/provider-measure/provider-measure/probe"
	"github.com/provider-measure/provider-measure/provider"
)

// fakes is a host whose processes are functions: providers are executables that
// are hashed and never run.
type fakes struct {
	t       testing.TB
	dir     string
	run     func(ctx context.Context, name string) *probe.Result // nil: healthy
	mu      sync.Mutex
	runs    map[string]int
	now     atomic.Int32
	atOnce  atomic.Int32
	schemas fstest.MapFS
}

func newFakes(t testing.TB) *fakes {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &fakes{t: t, dir: dir, runs: map[string]int{}, schemas: fstest.MapFS{
		"in.json":  {Data: []byte(`{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}`)},
		"out.json": {Data: []byte(`{"type":"object"}`)},
		"bad.json": {Data: []byte(`{"type":"objekt"}`)},
	}}
}

// manifest declares an executable provider with the given capabilities; extra is
// appended to it.
func (f *fakes) manifest(origin provider.Origin, id, extra string, capabilities ...string) *provider.Manifest {
	f.t.Helper()
	exe := filepath.Join(f.dir, id)
	if err := os.WriteFile(exe, []byte("#!/bin/sh\n# "+id+"\n"), 0o755); err != nil {
		f.t.Fatal(err)
	}
	text := fmt.Sprintf(`
[identity]
kind = "EXECUTABLE"
executable = %q
[probes.health]
argv = ["${executable}", "--version"]
[probes.health.expect.stdout]
matches = '^(?P<version>[0-9.]+)$'
`, exe)
	return f.parse(origin, id, "1.0", text+extra, capabilities...)
}

func (f *fakes) composite(origin provider.Origin, id string, components []string, capabilities ...string) *provider.Manifest {
	f.t.Helper()
	text := fmt.Sprintf("[identity]\nkind = \"COMPOSITE\"\ncomponents = [\"%s\"]\n", strings.Join(components, `", "`))
	return f.parse(origin, id, provider.CompositeVersion, text, capabilities...)
}

func (f *fakes) parse(origin provider.Origin, id, version, text string, capabilities ...string) *provider.Manifest {
	f.t.Helper()
	head := fmt.Sprintf(`manifest_version = 1
[provider]
id = %q
title = "Title of %s"
version = %q
install_tier = "T2"
license_id = "MIT"
`, id, id, version)
	for _, c := range capabilities {
		c, input, _ := strings.Cut(c, " ")
		if input == "" {
			input = "in.json"
		}
		text += fmt.Sprintf(`
[[capabilities]]
id = %q
version = "1"
title = "t"
description = "d"
tags = ["demo"]
input_schema = %q
output_schema = "out.json"
[[capabilities.examples]]
name = "one"
description = "one"
input = { n = 1 }
`, c, input)
	}
	m, err := provider.ParseManifest([]byte(head+text), provider.ManifestSource{File: id + ".toml", Dir: f.dir, FS: f.schemas, Origin: origin})
	if err != nil {
		f.t.Fatal(err)
	}
	return m
}

func exited(code int, stdout string) *probe.Result {
	return &probe.Result{Outcome: probe.Exited, ExitCode: &code, Stdout: []byte(stdout)}
}

func (f *fakes) host(manifests ...*provider.Manifest) *provider.Host {
	f.t.Helper()
	set, err := provider.NewSet(manifests...)
	if err != nil {
		f.t.Fatal(err)
	}
	return provider.NewHost(set, provider.HostOptions{Run: func(ctx context.Context, spec probe.Spec) (*probe.Result, error) {
		name := filepath.Base(spec.Path)
		f.mu.Lock()
		f.runs[name]++
		f.mu.Unlock()
		now := f.now.Add(1)
		defer f.now.Add(-1)
		for most := f.atOnce.Load(); now > most && !f.atOnce.CompareAndSwap(most, now); most = f.atOnce.Load() {
		}
		if f.run != nil {
			if r := f.run(ctx, name); r != nil {
				return r, nil
			}
		}
		return exited(0, "1.0"), nil
	}})
}

func sick(names ...string) func(context.Context, string) *probe.Result {
	return func(_ context.Context, name string) *probe.Result {
		if slices.Contains(names, name) {
			return exited(3, "")
		}
		return nil
	}
}

// Behaviour 26: what is listed is AVAILABLE, with a digest, by the provider that
// the manifest names.
func TestOpen(t *testing.T) {
	f := newFakes(t)
	host := f.host(
		f.manifest(provider.BuiltIn, "zeta", "", "sat.solve", "graph.demo"),
		f.manifest(provider.Operator, "alpha", "", "smt.demo"),
		f.manifest(provider.BuiltIn, "helper", ""),
	)
	c, report, err := Open(t.Context(), host, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"graph.demo", "sat.solve", "smt.demo"}, c.IDs()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	for id, name := range map[string]string{"graph.demo": "zeta", "sat.solve": "zeta", "smt.demo": "alpha"} {
		exe, err := digest.Executable(t.Context(), filepath.Join(f.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		d, ok := c.Lookup(id)
		if !ok || d.Provider() != name || !d.Runtime().Available() || d.Runtime().Digest() != exe.Digest {
			t.Errorf("%s: %s", id, d.canonical)
		}
	}
	if c.PolicyProfile() != "DEFAULT" || c.PolicyDigest() != policy(t, ProfileDefault, Rules{}).Digest() {
		t.Errorf("policy %s %s", c.PolicyProfile(), c.PolicyDigest())
	}
	want := map[string]int{"alpha": 1, "helper": 1, "zeta": 1}
	if diff := cmp.Diff(want, f.runs); diff != "" {
		t.Errorf("health probes: -want +got\n%s", diff)
	}
	r, ok := report.Provider("zeta")
	if !ok || r.Availability != provider.Available || r.Failure != nil || r.Code != "" || r.Origin != "built-in" || r.Manifest != "zeta.toml" ||
		r.Title != "Title of zeta" || r.Runtime == nil || r.Identification.Measured.Executable == nil ||
		!cmp.Equal(r.Capabilities, []string{"graph.demo", "sat.solve"}) || !cmp.Equal(r.Offered, r.Capabilities) {
		t.Errorf("report %+v", r)
	}
	if _, ok := report.Provider("nobody"); ok {
		t.Error("a report of nobody")
	}
	printed, err := c.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ParseCatalog(printed); err != nil {
		t.Error(err)
	}
}

// Behaviours 28 and 29: an unhealthy built-in takes its own capabilities with it
// and nothing else.
func TestOpenBuiltInUnhealthy(t *testing.T) {
	f := newFakes(t)
	f.run = sick("lean")
	host := f.host(
		f.manifest(provider.BuiltIn, "lean", "", "lean.check", "declaration.inspect"),
		f.manifest(provider.BuiltIn, "networkx", "", "graph.demo"),
	)
	c, report, err := Open(t.Context(), host, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"graph.demo"}, c.IDs()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	got, _ := report.Provider("lean")
	var pe *provider.Error
	if got.Availability != provider.Unavailable || got.Code != provider.CodeUnavailable || got.Reason != string(provider.ReasonProbeUnexpected) ||
		!strings.Contains(got.Message, "exit code is 3") || got.Path != filepath.Join(f.dir, "lean") || len(got.Offered) != 0 ||
		!cmp.Equal(got.Capabilities, []string{"declaration.inspect", "lean.check"}) || !errors.As(got.Failure, &pe) ||
		got.Runtime == nil || got.Runtime.Diagnostic() == "" {
		t.Errorf("report %+v", got)
	}
}

func TestOpenOperatorUnhealthy(t *testing.T) {
	f := newFakes(t)
	f.run = sick("lean", "other", "third")
	lean, other := f.manifest(provider.Operator, "lean", "", "lean.check"), f.manifest(provider.Operator, "other", "", "other.check")
	host := f.host(
		f.manifest(provider.BuiltIn, "lean", "", "lean.check"), // must not stand in
		lean, other, f.manifest(provider.BuiltIn, "third", "", "third.check"), f.manifest(provider.BuiltIn, "networkx", "", "graph.demo"),
	)
	c, report, err := Open(t.Context(), host, Options{})
	e := wantCode(t, err, CodeProviderUnavailable)
	if c != nil || report == nil || e.Provider != "lean, other" || e.Path != filepath.Join(f.dir, "lean") {
		t.Errorf("catalog %v, report %v, %+v", c, report, e)
	}
	for _, says := range []string{"lean", "other", "lean.toml", "exit code is 3"} {
		if !strings.Contains(err.Error(), says) {
			t.Errorf("%q lacks %q", err, says)
		}
	}
	if strings.Contains(err.Error(), "third") {
		t.Errorf("%q names an offer", err)
	}
	var pe *provider.Error
	if !errors.As(err, &pe) || pe.Provider != "lean" || !errors.Is(err, provider.CodeUnavailable) || !errors.Is(err, provider.ReasonProbeUnexpected) {
		t.Errorf("got %v", pe)
	}

	c, report, err = Open(t.Context(), host, Options{ReportOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"graph.demo"}, c.IDs()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	for _, id := range []string{"lean", "other", "third"} {
		if r, ok := report.Provider(id); !ok || r.Failure == nil {
			t.Errorf("%s: %+v", id, r)
		}
	}
	if r, _ := report.Provider("lean"); r.Origin != "operator" {
		t.Errorf("origin %q", r.Origin)
	}
}

// What an AVAILABLE provider offers and the registry refuses is a defect,
// whoever wrote it.
func TestOpenRefused(t *testing.T) {
	f := newFakes(t)
	host := f.host(
		f.manifest(provider.BuiltIn, "alpha", "", "zz.bad bad.json", "aa.good"),
		f.manifest(provider.BuiltIn, "beta", "", "bb.bad bad.json"),
	)
	c, report, err := Open(t.Context(), host, Options{})
	e := wantCode(t, err, CodeSchemaInvalid)
	if c != nil || e.ID != "bb.bad" || len(report.Refused) != 2 || !strings.Contains(err.Error(), "zz.bad") {
		t.Errorf("%v, %+v, %v", c, report, err)
	}
	c, report, err = Open(t.Context(), host, Options{ReportOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"aa.good"}, c.IDs()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	got := report.Refused[1]
	if got.CapabilityID != "zz.bad" || got.Provider != "alpha" || got.Code != CodeSchemaInvalid || got.Path != "/input_schema" || got.Message == "" || got.Hint == "" {
		t.Errorf("refusal %+v", got)
	}
	if r, _ := report.Provider("alpha"); !cmp.Equal(r.Offered, []string{"aa.good"}) {
		t.Errorf("offered %v", r.Offered)
	}
}

func TestOpenPolicy(t *testing.T) {
	f := newFakes(t)
	host := f.host(f.manifest(provider.BuiltIn, "alpha", "", "sat.solve", "graph.demo"))
	p := policy(t, ProfileNoRetrieval, Rules{DeniedDomains: []string{"SAT"}})
	c, report, err := Open(t.Context(), host, Options{Policy: p})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Denial{{"sat.solve", "alpha", []string{ReasonDomainDenied}}}, report.Denied); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if r, _ := report.Provider("alpha"); !cmp.Equal(r.Offered, []string{"graph.demo"}) || !cmp.Equal(c.IDs(), r.Offered) {
		t.Errorf("offered %v", r.Offered)
	}
	if report.PolicyProfile != ProfileNoRetrieval || report.PolicyDigest != p.Digest() || c.PolicyDigest() != p.Digest() {
		t.Errorf("policy %s %s", report.PolicyProfile, report.PolicyDigest)
	}
}

// Behaviour 31: a composite's record lists every component.
func TestOpenComposite(t *testing.T) {
	f := newFakes(t)
	manifests := []*provider.Manifest{
		f.composite(provider.BuiltIn, "aaa", []string{"two", "one"}, "both.demo"),
		f.manifest(provider.BuiltIn, "one", ""), f.manifest(provider.BuiltIn, "two", "", "two.demo"),
	}
	c, _, err := Open(t.Context(), f.host(manifests...), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int{"one": 1, "two": 1}, f.runs); diff != "" {
		t.Errorf("health probes: -want +got\n%s", diff)
	}
	d, _ := c.Lookup("both.demo")
	if d.Runtime().Kind() != digest.CompositeKind {
		t.Fatalf("descriptor %s", d.canonical)
	}
	text := string(d.Runtime().Record().Configuration)
	if one, two := strings.Index(text, `"provider":"one"`), strings.Index(text, `"provider":"two"`); one < 0 || two < 0 || two > one {
		t.Errorf("components %s", text)
	}
	two, _ := c.Lookup("two.demo")
	if !strings.Contains(text, two.Runtime().Digest().String()) {
		t.Error("another digest inside the composite than alone")
	}

	f.run = sick("one")
	c, report, err := Open(t.Context(), f.host(manifests...), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"two.demo"}, c.IDs()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if r, _ := report.Provider("aaa"); r.Reason != string(provider.ReasonComponent) || !strings.Contains(r.Message, "one") {
		t.Errorf("report %+v", r)
	}
}

// Whatever answers first, the catalog and the report are the same bytes.
func TestOpenDeterministic(t *testing.T) {
	f := newFakes(t)
	f.run = func(ctx context.Context, name string) *probe.Result {
		if name == "p07" || name == "p11" {
			return exited(1, "")
		}
		for range name[2] - '0' {
			runtime.Gosched()
		}
		return nil
	}
	var manifests []*provider.Manifest
	for i := range 16 {
		manifests = append(manifests, f.manifest(provider.BuiltIn, fmt.Sprintf("p%02d", i), "", fmt.Sprintf("demo.c%02d", 99-i)))
	}
	host := f.host(manifests...)
	var first string
	for round := range 8 {
		c, report, err := Open(t.Context(), host, Options{Workers: 1 + round})
		if err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprint(c.Digest())
		for _, r := range report.Providers {
			got += fmt.Sprintf("\n%s %v %v %s %s", r.Provider, r.Capabilities, r.Offered, r.Code, r.Message)
		}
		if round == 0 {
			first = got
		} else if got != first {
			t.Fatalf("round %d:\n%s\nbefore:\n%s", round, got, first)
		}
	}
}

func TestOpenWorkers(t *testing.T) {
	for _, tt := range []struct{ workers, most int }{{0, runtime.GOMAXPROCS(0)}, {1, 1}, {3, 3}, {maxWorkers, 8}} {
		t.Run(fmt.Sprint(tt.workers), func(t *testing.T) {
			f := newFakes(t)
			f.run = func(context.Context, string) *probe.Result { time.Sleep(5 * time.Millisecond); return nil }
			var manifests []*provider.Manifest
			for i := range 8 {
				manifests = append(manifests, f.manifest(provider.BuiltIn, fmt.Sprintf("p%02d", i), ""))
			}
			if _, _, err := Open(t.Context(), f.host(manifests...), Options{Workers: tt.workers}); err != nil {
				t.Fatal(err)
			}
			if got := int(f.atOnce.Load()); got > tt.most || (tt.most > 1 && got < 2) {
				t.Errorf("%d at once, most %d", got, tt.most)
			}
		})
	}
	f := newFakes(t)
	for _, workers := range []int{-1, maxWorkers + 1} {
		c, report, err := Open(t.Context(), f.host(), Options{Workers: workers})
		wantCode(t, err, CodeOptionInvalid)
		if c != nil || report != nil {
			t.Error("a result beside the error")
		}
	}
	if c, report, err := Open(t.Context(), f.host(), Options{}); err != nil || len(c.IDs()) != 0 || len(report.Providers) != 0 {
		t.Errorf("no providers: %v, %v, %v", c, report, err)
	}
}

// A start that is interrupted ends with the context's error, and with nothing
// left running: goleak watches.
func TestOpenCancelled(t *testing.T) {
	f := newFakes(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	f.run = func(ctx context.Context, _ string) *probe.Result {
		cancel()
		<-ctx.Done()
		return &probe.Result{Outcome: probe.Cancelled}
	}
	var manifests []*provider.Manifest
	for i := range 8 {
		manifests = append(manifests, f.manifest(provider.Operator, fmt.Sprintf("p%02d", i), "", fmt.Sprintf("demo.c%02d", i)))
	}
	manifests = append(manifests, f.composite(provider.Operator, "aaa", []string{"p06", "p07"}))
	start := time.Now()
	c, report, err := Open(ctx, f.host(manifests...), Options{Workers: 2})
	if !errors.Is(err, context.Canceled) || c != nil || report != nil {
		t.Errorf("got %v, %v, %v", c, report, err)
	}
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("took %v", took)
	}
	if len(f.runs) > 4 {
		t.Errorf("%d providers were begun after the end", len(f.runs))
	}
}

// An identification without a record, or one that is neither AVAILABLE nor
// failed, is never taken for good.
func TestOpenFailsClosed(t *testing.T) {
	f := newFakes(t)
	m := f.manifest(provider.BuiltIn, "alpha", "", "graph.demo")
	for name, answer := range map[string]func() (provider.Identification, error){
		"nothing": func() (provider.Identification, error) { return provider.Identification{}, nil },
		"error":   func() (provider.Identification, error) { return provider.Identification{}, errors.New("no record") },
		"unavailable": func() (provider.Identification, error) {
			return provider.Identification{Runtime: unavailable(t, "alpha", "gone")}, nil
		},
		"another's": func() (provider.Identification, error) {
			return provider.Identification{Runtime: available(t, "beta")}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			identify := func(context.Context, *provider.Manifest, provider.ComponentFunc) (provider.Identification, error) {
				return answer()
			}
			c, report, err := open(t.Context(), []*provider.Manifest{m}, identify, Options{ReportOnly: true})
			if err != nil {
				t.Fatal(err)
			}
			if len(c.IDs()) != 0 {
				t.Errorf("offers %v", c.IDs())
			}
			r := report.Providers[0]
			if name == "another's" {
				if len(report.Refused) != 1 || report.Refused[0].Code != CodeDescriptorInvalid {
					t.Errorf("refused %+v", report.Refused)
				}
				return
			}
			if r.Failure == nil || r.Message == "" || r.Code == "" || r.Availability != provider.Unavailable || len(report.Refused) != 0 {
				t.Errorf("report %+v, refused %+v", r, report.Refused)
			}
		})
	}
}
