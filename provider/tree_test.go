package provider

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
	"testing"

	"github.com/provider-measure/provider-measure/digest"
	"github.com/provider-measure/provider-measure/internal/testenv"
)

// treeDigest is the rule of provider-measure.source-tree.v1, written a second
// time.
func treeDigest(t testing.TB, root string, exclude ...string) string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		for _, x := range exclude {
			if rel == x && d.IsDir() {
				return filepath.SkipDir
			}
		}
		if d.IsDir() {
			if d.Name() == "__pycache__" {
				return filepath.SkipDir
			}
			return err
		}
		names = append(names, rel)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	sort.Strings(names)
	h := sha256.New()
	h.Write([]byte("provider-measure.source-tree.v1\x00"))
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(data)
		b := binary.BigEndian.AppendUint64(nil, uint64(len(name)))
		b = append(append(b, name...), byte(info.Mode().Perm()>>6&1))
		b = binary.BigEndian.AppendUint64(b, uint64(len(data)))
		h.Write(append(b, sum[:]...))
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// tree makes a manifest's folder with a tree in it.
func tree(t testing.TB) (dir string) {
	t.Helper()
	dir = tempDir(t)
	write(t, filepath.Join(dir, "tree", "a.txt"), "one\ntwo\n")
	write(t, filepath.Join(dir, "tree", "sub", "b.py"), "x = 1\n")
	write(t, filepath.Join(dir, "tree", "sub", "data", "c"), "c")
	script(t, filepath.Join(dir, "tree", "run"), "#!/bin/sh\n")
	write(t, filepath.Join(dir, "tree", "sub", "__pycache__", "b.pyc"), "x")
	return dir
}

func configOf(t testing.TB, rt Runtime) (c configuration) {
	t.Helper()
	if err := json.Unmarshal(rt.Record().Configuration, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestIdentifyRoot(t *testing.T) {
	dir := tree(t)
	h := NewHost(nil, HostOptions{})
	m := manifest(t, dir, treeText())
	id := identifyAvailable(t, h, m)
	root := filepath.Join(dir, "tree")
	c := configOf(t, id.Runtime)
	if got, want := id.Runtime.Digest().String(), treeDigest(t, root); got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
	if c.Root != root || c.TreeFormat != digest.FormatTreeV1 || c.Exclude != nil || id.Runtime.Version() != "1.0" || len(id.Measured.Tree.Entries) != 4 {
		t.Errorf("configuration %+v, measured %+v", c, id.Measured.Tree)
	}
	excluding := identifyAvailable(t, h, manifest(t, dir, treeText()+"exclude = ['sub/data']\n"))
	if got, want := excluding.Runtime.Digest().String(), treeDigest(t, root, "sub/data"); got != want || configOf(t, excluding.Runtime).Exclude[0] != "sub/data" {
		t.Errorf("digest %s, want %s; %s", got, want, excluding.Runtime.Record().Configuration)
	}
	absolute := manifest(t, tempDir(t), strings.Replace(treeText(), "root = 'tree'", "root = '"+dir+"/./tree'", 1))
	if got := identifyAvailable(t, h, absolute); configOf(t, got.Runtime).Root != root {
		t.Errorf("%s", got.Runtime.Record().Configuration)
	}
	for _, rt := range []Runtime{id.Runtime, excluding.Runtime} {
		if err := NewHost(nil, HostOptions{}).Revalidate(t.Context(), rt); err != nil {
			t.Error(err)
		}
	}
	write(t, filepath.Join(root, "sub", "data", "c"), "d")
	want{CodeIdentityChanged, ReasonDigestDiffers, []string{"measured sha256:"}, "identify", "tree"}.check(t, h.Revalidate(t.Context(), id.Runtime))
	if err := h.Revalidate(t.Context(), excluding.Runtime); err != nil {
		t.Error("the excluded folder counts:", err)
	}
	write(t, filepath.Join(root, "sub", "__pycache__", "more.pyc"), "x")
	if err := h.Revalidate(t.Context(), excluding.Runtime); err != nil {
		t.Error("bytecode counts:", err)
	}
	if err := h.Ready(t.Context(), m, id.Runtime, id.Measured); err != nil {
		t.Error("a tree has nothing to be ready for:", err)
	}
}

func TestIdentifyRootRefuses(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(t *testing.T, root string)
		more string
		want want
	}{
		{"gone", func(t *testing.T, root string) { remove(t, root) }, "", want{CodeUnavailable, digest.CodeNotFound, nil, "", "tree"}},
		{"empty", func(t *testing.T, root string) { remove(t, root); mkdir(t, filepath.Join(root, "empty")) }, "", want{CodeUnavailable, digest.CodeNotFound, []string{"holds no file"}, "", "tree"}},
		{"a file", func(t *testing.T, root string) { remove(t, root); write(t, root, "") }, "", want{CodeUnavailable, digest.CodeNotDirectory, nil, "", "tree"}},
		{"a link", func(t *testing.T, root string) {
			rename(t, filepath.Dir(root), "tree", "real")
			symlink(t, "real", root)
		}, "", want{CodeUnavailable, digest.CodeNotRegular, []string{"symbolic link"}, "", "tree"}},
		{"link in it", func(t *testing.T, root string) { symlink(t, "a.txt", filepath.Join(root, "sub", "l")) }, "", want{CodeUnavailable, digest.CodeNotRegular, []string{"sub/l"}, "", "sub/l"}},
		{"dangling link", func(t *testing.T, root string) { symlink(t, "none", filepath.Join(root, "l")) }, "", want{CodeUnavailable, digest.CodeNotRegular, nil, "", "tree/l"}},
		{"FIFO", func(t *testing.T, root string) {
			if err := syscall.Mkfifo(filepath.Join(root, "pipe"), 0o644); err != nil {
				t.Fatal(err)
			}
		}, "", want{CodeUnavailable, digest.CodeNotRegular, []string{"FIFO"}, "", "tree/pipe"}},
		{"unused exclusion", func(*testing.T, string) {}, "exclude = ['sub/dta']\n", want{CodeIdentityIncomplete, digest.CodeExclusionUnused, []string{"sub/dta"}, "", ""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := tree(t)
			h := NewHost(nil, HostOptions{})
			rt := identifyAvailable(t, h, manifest(t, dir, treeText())).Runtime
			tt.do(t, filepath.Join(dir, "tree"))
			tt.want.check(t, identify(t, h, manifest(t, dir, treeText()+tt.more)).Failure)
			if tt.more == "" && tt.name != "empty" {
				w := tt.want
				w.says = nil
				w.check(t, h.Revalidate(t.Context(), rt))
			}
		})
	}
}

// The reported trees, through a manifest.
func TestReportedTrees(t *testing.T) {
	digests := map[string]string{}
	h := NewHost(nil, HostOptions{})
	for _, name := range []string{"concat-1", "concat-2", "crlf-1", "crlf-2", "mode-644", "mode-755", "newline", "nfc", "nfd", "pycache"} {
		dir := tempDir(t)
		testenv.CopyTreeTo(t, input(t, "tree", name), filepath.Join(dir, "tree"))
		id := identifyAvailable(t, h, manifest(t, dir, treeText()))
		digests[name] = id.Runtime.Digest().String()
		if want := treeDigest(t, filepath.Join(dir, "tree")); digests[name] != want {
			t.Errorf("%s: %s, want %s", name, digests[name], want)
		}
	}
	seen := map[string]string{}
	for _, name := range []string{"concat-1", "concat-2", "crlf-1", "crlf-2", "nfc", "nfd"} {
		if before, ok := seen[digests[name]]; ok {
			t.Errorf("%s and %s have one digest", before, name)
		}
		seen[digests[name]] = name
	}
}

func TestLineEndingsAreNamed(t *testing.T) {
	dir := tree(t)
	h := NewHost(nil, HostOptions{})
	rt := identifyAvailable(t, h, manifest(t, dir, treeText())).Runtime
	file := filepath.Join(dir, "tree", "a.txt")
	for name, text := range map[string]string{"sub/b.py": "x = 1\r\n", "a.txt": "one\r\ntwo\r\n", "run": "#!/bin/sh\r\n"} {
		path := filepath.Join(dir, "tree", name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil { // the mode is kept
			t.Fatal(err)
		}
	}
	lines := want{CodeIdentityChanged, ReasonLineEndings, []string{"differ only in line endings"}, "core.autocrlf", "tree"}
	lines.check(t, h.Revalidate(t.Context(), rt))
	pinned := manifest(t, dir, treeText()+"digest = { "+h.Platform()+" = '"+rt.Digest().String()+"' }\n")
	lines.code = CodeUnavailable
	lines.check(t, identify(t, h, pinned).Failure)
	write(t, file, "one\r\nthree\r\n")
	want{CodeUnavailable, ReasonDigestPin, []string{"the manifest pins"}, "pinned build", "tree"}.check(t, identify(t, h, pinned).Failure)
	err := h.Revalidate(t.Context(), rt)
	if want := (want{code: CodeIdentityChanged, reason: ReasonDigestDiffers}); strings.Contains(err.Error(), "line endings") {
		t.Error(err)
	} else {
		want.check(t, err)
	}
}

func TestIdentifyEntrypoint(t *testing.T) {
	dir := tempDir(t)
	testenv.CopyTreeTo(t, filepath.Join(testenv.RepoRoot(t), "testdata", "vectors", "package", "base"), dir)
	data, err := os.ReadFile(filepath.Join(testenv.RepoRoot(t), "testdata", "vectors", "golden.json"))
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Package []struct {
			Name       string `json:"name"`
			Entrypoint string `json:"entrypoint"`
			Digest     string `json:"digest"`
		} `json:"package"`
	}
	if err := json.Unmarshal(data, &golden); err != nil {
		t.Fatal(err)
	}
	wantDigest := ""
	for _, v := range golden.Package {
		if v.Name == "base" && strings.HasPrefix(v.Entrypoint, "demo_pkg.plugin:") {
			wantDigest = v.Digest
		}
	}
	for name, more := range map[string]string{"beside the manifest": "", "search path": "search_path = ['.']\n"} {
		h := NewHost(nil, HostOptions{Lookup: environment("PATH", "")})
		id := identifyAvailable(t, h, manifest(t, dir, entrypointText()+more))
		c := configOf(t, id.Runtime)
		if id.Runtime.Digest().String() != wantDigest || c.Entrypoint != "demo_pkg.plugin:run" || c.TreeFormat != digest.FormatPackageV2 || len(c.SearchPath) != 1 || c.SearchPath[0] != dir {
			t.Errorf("%s: %s, want %s: %+v", name, id.Runtime.Digest(), wantDigest, c)
		}
		fresh := NewHost(nil, HostOptions{})
		if err := fresh.Revalidate(t.Context(), id.Runtime); err != nil {
			t.Errorf("%s: without its manifest: %v", name, err)
		}
	}
	h := NewHost(nil, HostOptions{})
	rt := identifyAvailable(t, h, manifest(t, dir, entrypointText())).Runtime
	for _, tt := range []struct {
		name string
		do   func()
		want want
	}{
		{"changed", func() { appendTo(t, filepath.Join(dir, "demo_pkg", "helper.py"), "#\n") }, want{CodeIdentityChanged, ReasonDigestDiffers, nil, "", "demo_pkg"}},
		{"link in it", func() { symlink(t, "helper.py", filepath.Join(dir, "demo_pkg", "l.py")) }, want{CodeUnavailable, digest.CodeNotRegular, nil, "", "l.py"}},
		{"module gone", func() { remove(t, dir, "demo_pkg", "l.py"); remove(t, dir, "demo_pkg", "plugin.py") }, want{CodeUnavailable, digest.CodeModuleNotFound, []string{"demo_pkg.plugin"}, "", ""}},
		{"namespace", func() { remove(t, dir, "demo_pkg", "__init__.py") }, want{CodeUnavailable, digest.CodeNamespacePackage, nil, "", "demo_pkg"}},
		{"gone", func() { remove(t, dir, "demo_pkg") }, want{CodeUnavailable, digest.CodeModuleNotFound, nil, "", ""}},
	} {
		tt.do()
		tt.want.check(t, h.Revalidate(t.Context(), rt))
	}
}

// An editable install is measured as the source tree that its checkout is.
func TestEditableCheckout(t *testing.T) {
	checkout := tempDir(t)
	write(t, filepath.Join(checkout, "src", "demo_pkg", "__init__.py"), "")
	write(t, filepath.Join(checkout, "src", "demo_pkg", "plugin.py"), "def run(): pass\n")
	site, h := distVenv(t, "editable")
	m := manifest(t, tempDir(t), entrypointText()+"distribution = 'demo-pkg'\n")
	want{CodeUnavailable, ReasonEditable, []string{"checkout that is gone", "/nonexistent/checkout"}, "restore", "/nonexistent/checkout"}.check(t, identify(t, h, m).Failure)
	remove(t, site, "demo_pkg") // the input has the package too
	write(t, filepath.Join(site, demoInfo, "direct_url.json"), `{"dir_info":{"editable":true},"url":"file://`+checkout+`"}`)
	write(t, filepath.Join(site, "__editable__.demo_pkg-1.0.pth"), filepath.Join(checkout, "src")+"\n")
	record := distManifest(t, "")
	want{CodeUnavailable, ReasonEditable, []string{"editable install of file://" + checkout + ":"}, "SOURCE_TREE", ""}.check(t, identify(t, h, record).Failure)
	h = NewHost(nil, HostOptions{Python: filepath.Join(site, "..", "..", "..")})
	id := identifyAvailable(t, h, m)
	if got := id.Measured.Tree.Root; got != filepath.Join(checkout, "src", "demo_pkg") {
		t.Errorf("measured %s", got)
	}
	// Neither its manifest nor the environment is needed to measure it again.
	if err := NewHost(nil, HostOptions{}).Revalidate(t.Context(), id.Runtime); err != nil {
		t.Error(err)
	}
	remove(t, checkout)
	want{CodeUnavailable, digest.CodeModuleNotFound, nil, "", ""}.check(t, h.Revalidate(t.Context(), id.Runtime))
	want{CodeUnavailable, ReasonEditable, []string{"gone"}, "", ""}.check(t, identify(t, h, m).Failure)
	// What is installed plainly is measured where it is.
	_, h = distVenv(t, "good")
	plain := manifest(t, tempDir(t), strings.Replace(entrypointText(), "demo_pkg.plugin:run", "demo_pkg:run", 1)+"distribution = 'demo-pkg'\n")
	identifyAvailable(t, h, plain)
	want{CodeUnavailable, digest.CodeNotInstalled, nil, "--python", ""}.check(t, identify(t, h, manifest(t, tempDir(t), entrypointText()+"distribution = 'other'\n")).Failure)
}

// A built-in manifest that was only read has no folder to be relative to.
func TestNotLaidOut(t *testing.T) {
	h := NewHost(nil, HostOptions{})
	for _, text := range []string{treeText(), entrypointText() + "search_path = ['x']\n"} {
		m, err := ParseManifest([]byte(text), ManifestSource{File: "built-in:x.toml", Origin: BuiltIn})
		if err != nil {
			t.Fatal(err)
		}
		want{CodeUnavailable, ReasonWorkersUnavailable, []string{"not laid out"}, "", ""}.check(t, identify(t, h, m).Failure)
	}
}

func TestBuiltinWorkers(t *testing.T) {
	manifests, removeAll, err := OpenBuiltins(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = removeAll() }()
	found := false
	for _, m := range manifests {
		if m.Identity.Kind != digest.SourceTree {
			continue
		}
		found = true
		h := NewHost(newSet(t, manifests...), HostOptions{Lookup: environment("PATH", os.Getenv("PATH")), TempDir: t.TempDir()})
		id := identify(t, h, m)
		if id.Failure != nil {
			if errors.Is(id.Failure, ReasonPythonMissing) {
				testenv.Skip(t, "python", id.Failure.Error())
			}
			t.Fatal(id.Failure)
		}
		// Another process lays its own copy out and finds the same.
		again, removeAgain, err := OpenBuiltins(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = removeAgain() }()
		fresh := NewHost(newSet(t, again...), HostOptions{})
		if err := fresh.Revalidate(t.Context(), id.Runtime); err != nil {
			t.Error(err)
		}
	}
	if !found {
		t.Error("no built-in SOURCE_TREE")
	}
}
