package catalog

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	godigest "github.com/opencontainers/go-digest"
	"go.uber.org/goleak"

	"github.com/provider-measure/provider-measure/digest"
	"github.com/provider-measure/provider-measure/internal/testenv"
	"github.com/provider-measure/provider-measure/provider"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// data returns the bytes of something below /testdata.
func data(t testing.TB, parts ...string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(append([]string{testenv.RepoRoot(t), "testdata"}, parts...)...))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// available is a runtime of an executable, edited by edit.
func available(t testing.TB, id string, edit ...func(*provider.Record)) provider.Runtime {
	t.Helper()
	version, kind := "1.0", digest.ExecutableKind
	sum := godigest.FromString(id)
	r := provider.Record{
		RuntimeVersion: "1", Provider: id, Availability: provider.Available, Version: &version, Digest: &sum, DigestKind: &kind,
		Platform: "linux-x86_64", InstallTier: provider.T2, LicenseID: "MIT", Configuration: jsontext.Value(`{"executable":"/opt/tool"}`),
	}
	for _, e := range edit {
		e(&r)
	}
	rt, err := provider.NewRuntime(r)
	if err != nil {
		t.Fatal(err)
	}
	return rt
}

func unavailable(t testing.TB, id, diagnostic string) provider.Runtime {
	t.Helper()
	return available(t, id, func(r *provider.Record) {
		r.Availability, r.Version, r.Digest, r.DigestKind, r.Diagnostic = provider.Unavailable, nil, nil, nil, &diagnostic
		r.Configuration = nil
	})
}

// record is a valid descriptor as plain data, edited by edit.
func record(t testing.TB, id string, edit ...func(*DescriptorRecord)) DescriptorRecord {
	t.Helper()
	rt := available(t, "demo-tool")
	r := DescriptorRecord{
		DescriptorVersion: "1", CapabilityID: id, Version: "1", Title: "Demo", Description: "A demonstration.",
		Provider: "demo-tool", ProviderRuntime: &rt,
		InputSchema:  jsontext.Value(`{"type":"object","properties":{"n":{"type":"integer","minimum":0}},"required":["n"],"additionalProperties":false}`),
		OutputSchema: jsontext.Value(`{"type":"object"}`), ReadOnly: true,
		Tags: []string{"graph"}, Modes: []provider.Mode{provider.Explore},
		Examples: []Example{{Name: "one", Description: "the number one", Input: jsontext.Value(`{"n":1}`), Mode: provider.Explore}},
	}
	for _, e := range edit {
		e(&r)
	}
	return r
}

func descriptor(t testing.TB, id string, edit ...func(*DescriptorRecord)) Descriptor {
	t.Helper()
	d, err := DescriptorFrom(record(t, id, edit...))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func policy(t testing.TB, profile Profile, rules Rules) Policy {
	t.Helper()
	p, err := NewPolicy(profile, rules)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// wantCode checks err's code, and that it is an *Error with a text.
func wantCode(t testing.TB, err error, code Code) *Error {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want an *Error with %s", err, code)
	}
	if e.Code != code || !errors.Is(err, code) {
		t.Fatalf("got %v, want %s", err, code)
	}
	if e.Message == "" && e.Err == nil {
		t.Fatalf("%s says nothing", code)
	}
	return e
}
