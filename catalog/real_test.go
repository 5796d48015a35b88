//go:build unix

package catalog

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-measure/provider-measure/digest"
	"github.com/provider-measure/provider-measure/provider"
)

// scripts lays out a folder of manifests as an operator would, with a program
// for each.
func scripts(t *testing.T, programs map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, content string, mode os.FileMode) {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	write("in.json", `{"type":"object"}`, 0o644)
	write("out.json", `{"type":"object"}`, 0o644)
	for id, program := range programs {
		write(id, program, 0o755)
		write(id+".toml", strings.NewReplacer("@ID@", id, "@EXE@", filepath.Join(dir, id)).Replace(`
manifest_version = 1
[provider]
id = "@ID@"
title = "@ID@"
version = "1.2"
install_tier = "T2"
license_id = "MIT"
[identity]
kind = "EXECUTABLE"
executable = "@EXE@"
[probes.health]
argv = ["${executable}", "--version"]
timeout_secs = 60
[probes.health.expect.stdout]
matches = '^version (?P<version>[0-9.]+)\n$'
[[capabilities]]
id = "@ID@.run"
version = "1"
title = "Run"
description = "Run @ID@."
input_schema = "in.json"
output_schema = "out.json"
`), 0o644)
	}
	return dir
}

func openDir(t *testing.T, dir string, opts Options) (*Catalog, *Report, error) {
	t.Helper()
	manifests, err := provider.LoadManifestDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	set, err := provider.NewSet(manifests...)
	if err != nil {
		t.Fatal(err)
	}
	return Open(t.Context(), provider.NewHost(set, provider.HostOptions{}), opts)
}

// With real files and real processes.
func TestOpenScripts(t *testing.T) {
	dir := scripts(t, map[string]string{
		"good":  "#!/bin/sh\necho version 1.2\n",
		"other": "#!/bin/sh\n# Of its own bytes.\necho version 1.2\n",
	})
	c, report, err := openDir(t, dir, Options{})
	if err != nil {
		t.Fatalf("%v\n%+v", err, report)
	}
	if diff := cmp.Diff([]string{"good.run", "other.run"}, c.IDs()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	exe, err := digest.Executable(t.Context(), filepath.Join(dir, "good"))
	if err != nil {
		t.Fatal(err)
	}
	if d, _ := c.Lookup("good.run"); d.Runtime().Digest() != exe.Digest || d.Runtime().Version() != "1.2" {
		t.Errorf("descriptor %s", d.canonical)
	}
}

func TestOpenBrokenScripts(t *testing.T) {
	dir := scripts(t, map[string]string{
		"good":   "#!/bin/sh\necho version 1.2\n",
		"failed": "#!/bin/sh\necho no >&2\nexit 7\n",
		"newer":  "#!/bin/sh\necho version 1.3\n",
		"gone":   "",
	})
	if err := os.Remove(filepath.Join(dir, "gone")); err != nil {
		t.Fatal(err)
	}
	c, _, err := openDir(t, dir, Options{})
	e := wantCode(t, err, CodeProviderUnavailable)
	if c != nil || e.Provider != "failed, gone, newer" || !errors.Is(err, provider.CodeUnavailable) {
		t.Errorf("got %v, %+v", c, e)
	}
	c, report, err := openDir(t, dir, Options{ReportOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"good.run"}, c.IDs()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	for id, want := range map[string]string{
		"failed": string(provider.ReasonProbeUnexpected), "newer": string(provider.ReasonVersionSkew), "gone": string(digest.CodeNotFound),
	} {
		r, ok := report.Provider(id)
		if !ok || r.Code != provider.CodeUnavailable || r.Reason != want || r.Message == "" {
			t.Errorf("%s: %s %s %q, want %s", id, r.Code, r.Reason, r.Message, want)
		}
	}
}
