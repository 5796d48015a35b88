package provider

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/provider-measure/provider-measure/digest"
)

// compositeHost is a host with a distribution, an executable, and composites of
// them: tests.all of both, tests.outer of that one and a second tool.
func compositeHost(t *testing.T, outer string) (h *Host, all, top *Manifest, site, tool string) {
	t.Helper()
	tool = script(t, filepath.Join(tempDir(t), "tool"), goodTool)
	second := script(t, filepath.Join(tempDir(t), "second"), "#!/bin/sh\necho v1.0.0\n# second\n")
	rename := func(text, id string) string { return strings.Replace(text, "tests.tool", id, 1) }
	licensed := strings.Replace(manifestText(toolManifestText("x"), tool), "license_id = 'MIT'", "license_id = 'BSD-3-Clause'", 1)
	licensed = strings.Replace(licensed, "'T1'", "'T2'", 1)
	a := distManifest(t, "")
	b := manifest(t, tempDir(t), licensed)
	c := manifest(t, tempDir(t), rename(manifestText(toolManifestText("x"), second), "tests.second"))
	all = manifest(t, tempDir(t), strings.Replace(compositeText(), "'tests.a', 'tests.b'", "'tests.demo', 'tests.tool'", 1))
	top = manifest(t, tempDir(t), strings.Replace(strings.Replace(compositeText(), "tests.all", "tests.outer", 1), "'tests.a', 'tests.b'", "'tests.all', 'tests.second'", 1)+outer)
	site, h = distVenv(t, "good", a, b, c, all, top)
	return h, all, top, site, tool
}

func TestIdentifyComposite(t *testing.T) {
	h, all, top, _, _ := compositeHost(t, "")
	id := identifyAvailable(t, h, all)
	record := id.Runtime.Record()
	if *record.Version != "composite-1" || *record.DigestKind != digest.CompositeKind || record.InstallTier != T2 || record.LicenseID != "BSD-3-Clause AND MIT" {
		t.Errorf("record %+v", record)
	}
	// The digest, computed here from the components' own records.
	var raw []json.RawMessage
	for _, c := range id.Measured.Components {
		raw = append(raw, encode(t, c.Runtime))
	}
	preimage := "[" + string(raw[0]) + "," + string(raw[1]) + "]"
	if want := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(preimage))); id.Runtime.Digest().String() != want {
		t.Errorf("digest %s, want %s", id.Runtime.Digest(), want)
	}
	if want := `{"components":` + preimage + `}`; string(record.Configuration) != want {
		t.Errorf("configuration %s, want %s", record.Configuration, want)
	}
	warnings := strings.Join(id.Warnings, "\n")
	for _, part := range []string{"install_tier T1", "come to T2", `license_id "MIT"`, `come to "BSD-3-Clause AND MIT"`} {
		if !strings.Contains(warnings, part) {
			t.Errorf("warnings lack %q: %s", part, warnings)
		}
	}
	outer := identifyAvailable(t, h, top)
	parts, err := outer.Runtime.components()
	if err != nil || len(parts) != 2 || parts[0].Digest() != id.Runtime.Digest() || parts[1].Provider() != "tests.second" {
		t.Errorf("components %+v, %v", parts, err)
	}
	if outer.Measured.executable() == nil || filepath.Base(outer.Measured.executable().Path) != "tool" {
		t.Error("${executable} of a composite is its first one's")
	}
	if err := h.Ready(t.Context(), top, outer.Runtime, outer.Measured); err != nil {
		t.Error(err)
	}
	if err := h.Revalidate(t.Context(), outer.Runtime); err != nil {
		t.Error(err)
	}
}

func TestCompositeLicenceOfChoice(t *testing.T) {
	version := CompositeVersion
	m := &Manifest{InstallTier: T1, LicenseID: "Apache-2.0 OR MIT AND BSD-3-Clause"}
	r := &Record{Version: &version, InstallTier: T1, LicenseID: m.LicenseID}
	if got := compositeWarnings(m, r); len(got) != 1 || !strings.Contains(got[0], "binds closer") {
		t.Errorf("warnings %q", got)
	}
}

func TestCompositeUnavailable(t *testing.T) {
	h, all, top, site, tool := compositeHost(t, "")
	before := identifyAvailable(t, h, top)
	remove(t, tool)
	w := want{CodeUnavailable, ReasonComponent, []string{"tests.tool", "tool"}, "", "tool"}
	w.check(t, identify(t, h, all).Failure)
	id := identify(t, h, top)
	w.check(t, id.Failure)
	if !errors.Is(id.Failure, digest.CodeNotFound) || !strings.Contains(id.Failure.Error(), "tests.all") {
		t.Errorf("the cause is lost: %v", id.Failure)
	}
	remove(t, site, demoInfo, "RECORD")
	both := identify(t, h, all)
	want{CodeUnavailable, ReasonComponent, []string{"tests.demo", "tests.tool", "no RECORD"}, "--ignore-installed", ""}.check(t, both.Failure)
	want{CodeReadinessFailed, ReasonExecutableMissing, nil, "", "tool"}.check(t, h.Ready(t.Context(), top, before.Runtime, before.Measured))
}

func TestRevalidateComposite(t *testing.T) {
	edit := func(do func(component map[string]any)) func(t *testing.T, rt Runtime) []byte {
		return func(t *testing.T, rt Runtime) []byte {
			var m map[string]any
			if err := json.Unmarshal(encode(t, rt), &m); err != nil {
				t.Fatal(err)
			}
			do(m["configuration"].(map[string]any)["components"].([]any)[1].(map[string]any))
			return encode(t, m)
		}
	}
	for _, tt := range []struct {
		name   string
		edit   func(t *testing.T, rt Runtime) []byte
		want   want
		parses bool
	}{
		{
			"inner digest zeroed", edit(func(c map[string]any) { c["digest"] = "sha256:" + repeated("0", 64) }),
			want{CodeIdentityChanged, ReasonDigestDiffers, []string{"tests.tool"}, "", "tool"},
			true,
		},
		{
			"inner licence edited", edit(func(c map[string]any) { c["license_id"] = "ISC" }),
			want{CodeIdentityChanged, ReasonDigestDiffers, []string{"tests.all"}, "", ""},
			true,
		},
		{"inner key gone", edit(func(c map[string]any) { delete(c, "features") }), want{CodeMalformedRuntime, ReasonRecordInvalid, []string{"component 2", "features"}, "", ""}, false},
		{"inner executable gone", edit(func(c map[string]any) { c["configuration"] = map[string]any{} }), want{CodeMalformedRuntime, ReasonRecordInvalid, []string{"component 2", "executable"}, "", ""}, false},
		{"inner unavailable", edit(func(c map[string]any) {
			c["availability"], c["version"], c["digest"], c["digest_kind"], c["diagnostic"] = "UNAVAILABLE", nil, nil, nil, "gone"
		}), want{CodeMalformedRuntime, ReasonRecordInvalid, []string{"not AVAILABLE"}, "", ""}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h, all, _, _, _ := compositeHost(t, "")
			rt := identifyAvailable(t, h, all).Runtime
			edited, err := ParseRuntime(tt.edit(t, rt))
			if (err == nil) != tt.parses {
				t.Fatal(err)
			}
			if tt.parses {
				err = h.Revalidate(t.Context(), edited)
			}
			tt.want.check(t, err)
		})
	}
	h, _, top, _, tool := compositeHost(t, "")
	rt := identifyAvailable(t, h, top).Runtime
	appendTo(t, tool, "#\n")
	want{CodeIdentityChanged, ReasonDigestDiffers, []string{"tests.tool"}, "", "tool"}.check(t, h.Revalidate(t.Context(), rt))
	remove(t, tool)
	want{CodeUnavailable, digest.CodeNotFound, []string{"tests.tool"}, "", "tool"}.check(t, h.Revalidate(t.Context(), rt))
}

// A host that does not know a composite's components says so.
func TestCompositeOfStrangers(t *testing.T) {
	_, all, _, _, _ := compositeHost(t, "")
	want{CodeUnavailable, ReasonComponentUnknown, []string{`"tests.demo" is not a known provider`}, "", ""}.check(t, identify(t, NewHost(nil, HostOptions{}), all).Failure)
}

// More licences than a record has room for make the composite unavailable.
func TestCompositeLicencesTooLong(t *testing.T) {
	ids := []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "GPL-2.0-or-later", "GPL-3.0-or-later", "LGPL-2.1-or-later", "LGPL-3.0-or-later", "MPL-2.0"}
	var manifests []*Manifest
	var names []string
	for i, id := range ids {
		tool := script(t, filepath.Join(tempDir(t), "tool"), goodTool)
		name := fmt.Sprintf("tests.part%d", i)
		names = append(names, "'"+name+"'")
		text := strings.Replace(manifestText(toolManifestText("x"), tool), "tests.tool", name, 1)
		manifests = append(manifests, manifest(t, tempDir(t), strings.Replace(text, "'MIT'", "'"+id+"'", 1)))
	}
	all := manifest(t, tempDir(t), strings.Replace(compositeText(), "'tests.a', 'tests.b'", strings.Join(names, ","), 1))
	h := NewHost(newSet(t, append(manifests, all)...), HostOptions{})
	want{CodeMalformedRuntime, ReasonRecordInvalid, []string{"license_id has"}, "", ""}.check(t, identify(t, h, all).Failure)
}
