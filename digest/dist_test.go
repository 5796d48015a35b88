//go:build unix

package digest

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-measure/provider-measure/internal/testenv"
)

func inputDist(t *testing.T, name, dist string) (*Distribution, error) {
	t.Helper()
	return FindDistribution(t.Context(), Search{Paths: []string{data(t, "inputs", "dist", name)}}, dist)
}

const (
	demoPkg      = "demo-pkg"
	demoInit     = "demo_pkg/__init__.py"
	demoDistInfo = "demo_pkg-1.0.dist-info"
)

func TestInputDists(t *testing.T) {
	tests := []struct {
		name    string
		wantErr Code
		line    int
		inErr   []string // each must be in the message
	}{
		{name: "good"},
		{name: "tampered-py"},
		{name: "missing-file"},
		{name: "comma-unquoted", wantErr: CodeRecordMalformed, line: 5},
		{name: "comma-quoted"},
		{name: "hash-hex"},
		{name: "hash-md5"},
		{name: "hash-sha512"},
		{name: "dup-different"},
		{name: "path-absolute"},
		{name: "path-escape"},
		{name: "no-record", wantErr: CodeRecordMissing, inErr: []string{"no RECORD (INSTALLER: pip)"}},
		{name: "empty-record", wantErr: CodeRecordEmpty},
		{name: "two-versions", wantErr: CodeAmbiguous, inErr: []string{"demo_pkg-0.9.dist-info", "demo_pkg-1.0.dist-info"}},
		{name: "empty-older"},
		{name: "editable"},
		{name: "egg-info", wantErr: CodeLegacy, inErr: []string{"legacy metadata, no hashes"}},
		{name: "name-dotted"},
		{name: "license-pep639"},
		{name: "license-trap"},
		{name: "pyc-rows"},
		{name: "record-crlf"},
	}
	var names []string
	for _, tt := range tests {
		names = append(names, tt.name)
		t.Run(tt.name, func(t *testing.T) {
			d, err := inputDist(t, tt.name, demoPkg)
			if tt.wantErr == "" {
				if err != nil {
					t.Fatal(err)
				}
				if d.Version != "1.0" || d.Installer != "pip" || d.Site != d.Prefix {
					t.Errorf("got %+v", d)
				}
				return
			}
			var e *Error
			if !errors.Is(err, tt.wantErr) || !errors.As(err, &e) || d != nil {
				t.Fatalf("got %v, %v; want %s", d, err, tt.wantErr)
			}
			if e.Line != tt.line {
				t.Errorf("line %d, want %d", e.Line, tt.line)
			}
			for _, s := range tt.inErr {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("%q is not in %q", s, err)
				}
			}
		})
	}
	slices.Sort(names)
	var there []string
	entries, err := os.ReadDir(data(t, "inputs", "dist"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		there = append(there, e.Name())
	}
	if diff := cmp.Diff(there, names); diff != "" {
		t.Error("cases without a test:", diff)
	}
}

func TestInputVerify(t *testing.T) {
	tests := []struct {
		name     string
		verified bool
		problems map[string]FileStatus // by path
		inDetail string
	}{
		{name: "good", verified: true},
		{name: "hash-sha512", verified: true},
		{name: "comma-quoted", verified: true},
		{name: "pyc-rows", verified: true},
		{name: "record-crlf", verified: true},
		{name: "tampered-py", problems: map[string]FileStatus{demoInit: FileModified}},
		{name: "missing-file", problems: map[string]FileStatus{demoInit: FileMissing}},
		{name: "hash-hex", problems: map[string]FileStatus{demoInit: FileMalformed}, inDetail: "hexadecimal"},
		{name: "hash-md5", problems: map[string]FileStatus{demoInit: FileWeakHash}, inDetail: "md5"},
		{name: "path-absolute", problems: map[string]FileStatus{"/usr/bin/env": FileOutside}},
		{name: "path-escape", problems: map[string]FileStatus{"../../../../../../../../etc/passwd": FileOutside}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d, err := inputDist(t, tt.name, demoPkg)
			if err != nil {
				t.Fatal(err)
			}
			rep, err := d.Verify(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if rep.Verified() != tt.verified || len(rep.Rows) != len(d.Record.Rows) {
				t.Errorf("verified %v, %d rows", rep.Verified(), len(rep.Rows))
			}
			got := map[string]FileStatus{}
			for _, p := range rep.Problems() {
				got[p.Row.Path] = p.Status
				if !strings.Contains(p.Detail, tt.inDetail) {
					t.Errorf("detail %q lacks %q", p.Detail, tt.inDetail)
				}
			}
			if len(got)+len(tt.problems) > 0 {
				if diff := cmp.Diff(tt.problems, got); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

func TestInputDigests(t *testing.T) {
	digestOf := func(name string) string {
		d, err := inputDist(t, name, demoPkg)
		if err != nil {
			t.Fatal(err)
		}
		return d.Record.Digest().String()
	}
	if a, b := digestOf("good"), digestOf("tampered-py"); a != b {
		t.Error("a manifest digest changed with a file's bytes")
	}
	if a, b := digestOf("good"), digestOf("missing-file"); a != b {
		t.Error("a missing file changed the digest over all rows")
	}
	b, err := os.ReadFile(data(t, "inputs", "dist", "record-crlf", demoDistInfo, "RECORD"))
	if err != nil || !strings.Contains(string(b), "\r\n") {
		t.Fatal("the CRLF case has lost its CRs", err)
	}
	lf, err := ParseRecord([]byte(strings.ReplaceAll(string(b), "\r\n", "\n")))
	if err != nil || lf.Digest().String() != digestOf("record-crlf") {
		t.Error("CRLF changed the digest", err)
	}
}

func TestInputDetails(t *testing.T) {
	must := func(name, spelling string) *Distribution {
		t.Helper()
		d, err := inputDist(t, name, spelling)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	t.Run("names", func(t *testing.T) {
		for _, s := range []string{"demo-pkg", "Demo.Pkg", "DEMO__pkg", "demo-_.pkg"} {
			if d := must("name-dotted", s); d.Name != "Demo.Pkg" {
				t.Errorf("%s found %s", s, d.Name)
			}
		}
	})
	t.Run("conflict", func(t *testing.T) {
		d := must("dup-different", demoPkg)
		if c := d.Record.Conflicts(); len(c) != 1 || c[0][0].Path != demoInit {
			t.Errorf("got %v", c)
		}
		if c := must("good", demoPkg).Record.Conflicts(); len(c) != 0 {
			t.Errorf("good: %v", c)
		}
	})
	t.Run("licences", func(t *testing.T) {
		want := []string{demoDistInfo + "/licenses/LICENSE", demoDistInfo + "/licenses/vendor/LICENSE"}
		if diff := cmp.Diff(want, must("license-pep639", demoPkg).LicenseFiles); diff != "" {
			t.Error(diff)
		}
		if got := must("license-trap", demoPkg).LicenseFiles; len(got) != 0 {
			t.Errorf("trap: %v", got)
		}
	})
	t.Run("leftover beside", func(t *testing.T) {
		w := must("empty-older", demoPkg).Warnings
		if len(w) != 1 || w[0].Code != CodeLeftover || filepath.Base(w[0].Path) != "demo_pkg-0.9.dist-info" {
			t.Errorf("got %v", w)
		}
	})
	t.Run("editable", func(t *testing.T) {
		e := must("editable", demoPkg).Editable
		want := &Editable{
			URL: "file:///nonexistent/checkout", Checkout: "/nonexistent/checkout",
			ImportDirs: []string{"/nonexistent/checkout/src"},
		}
		if diff := cmp.Diff(want, e); diff != "" {
			t.Error(diff)
		}
		if must("good", demoPkg).Editable != nil {
			t.Error("good is not editable")
		}
	})
	t.Run("inventory", func(t *testing.T) {
		for _, tt := range []struct {
			name                                  string
			files, missing, refused, unverifiable int
		}{
			{"good", 5, 0, 0, 0},
			{"missing-file", 4, 1, 0, 0},
			{"path-absolute", 5, 0, 1, 0},
			{"path-escape", 5, 0, 1, 0},
			{"pyc-rows", 5, 0, 0, 1},
			{"dup-different", 5, 0, 0, 0},
		} {
			inv, err := must(tt.name, demoPkg).Inventory(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got := [4]int{len(inv.Files), len(inv.Missing), len(inv.Refused), len(inv.Unverifiable)}
			if want := [4]int{tt.files, tt.missing, tt.refused, tt.unverifiable}; got != want {
				t.Errorf("%s: got %v, want %v", tt.name, got, want)
			}
			for _, r := range inv.Refused {
				if r.Code != CodeOutside {
					t.Errorf("%s: %+v", tt.name, r)
				}
			}
		}
	})
}

// site builds site directories for a case.
type site map[string]string

func (s site) make(t *testing.T, dir string) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range s {
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		write(t, filepath.Join(dir, name), content)
	}
	return dir
}

func meta(name, version string) string {
	return "Metadata-Version: 2.1\nName: " + name + "\nVersion: " + version + "\n"
}

func rowOf(path, content string) string {
	sum := sha256.Sum256([]byte(content))
	return path + ",sha256=" + base64.RawURLEncoding.EncodeToString(sum[:]) + "\n"
}

func TestFindDistribution(t *testing.T) {
	rec := rowOf("x.py", "")
	wheel := func(name, version string) site {
		f := name + "-" + version + ".dist-info/"
		return site{f + "METADATA": meta(name, version), f + "RECORD": rec, "x.py": ""}
	}
	tests := []struct {
		name     string
		sites    []site
		ask      string
		wantErr  Code
		warnings []Code
		version  string
	}{
		{name: "nothing", sites: []site{{}}, ask: "foo", wantErr: CodeNotInstalled},
		{name: "no directory", ask: "foo", wantErr: CodeNotInstalled},
		{name: "bad name", sites: []site{{}}, ask: "-foo", wantErr: CodeNameInvalid},
		{name: "code only", sites: []site{{"foo_bar/__init__.py": ""}}, ask: "foo-bar", wantErr: CodeNoMetadata},
		{name: "module only", sites: []site{{"foo.py": ""}}, ask: "foo", wantErr: CodeNoMetadata},
		{name: "namespace left", sites: []site{{"foo/data.txt": ""}}, ask: "foo", wantErr: CodeNoMetadata},
		{name: "half gone", sites: []site{{"foo-1.dist-info/RECORD": rec}}, ask: "foo", wantErr: CodeLeftover},
		{name: "pip tilde", sites: []site{{"~oo-1.dist-info/METADATA": meta("foo", "1"), "~oo-1.dist-info/RECORD": rec}}, ask: "foo", wantErr: CodeLeftover},
		{name: "pip longer tilde", sites: []site{{"~=o-1.dist-info/METADATA": meta("foo", "1")}}, ask: "foo", wantErr: CodeLeftover},
		{name: "tilde of another", sites: []site{{"~oa-1.dist-info/METADATA": meta("foa", "1")}}, ask: "foo", wantErr: CodeNotInstalled},
		{name: "egg-link", sites: []site{{"foo.egg-link": "/src\n."}}, ask: "foo", wantErr: CodeLegacy},
		{name: "egg-info file", sites: []site{{"foo-1-py3.11.egg-info": meta("foo", "1")}}, ask: "foo", wantErr: CodeLegacy},
		{name: "egg", sites: []site{{"foo-1-py3.11.egg/EGG-INFO/PKG-INFO": meta("foo", "1")}}, ask: "foo", wantErr: CodeLegacy},
		{name: "egg-info of longer name", sites: []site{{"foo_bar-1.egg-info/PKG-INFO": meta("foo-bar", "1")}}, ask: "foo", wantErr: CodeNotInstalled},
		{name: "one", sites: []site{wheel("foo", "1")}, ask: "FOO", version: "1"},
		{name: "shadowed", sites: []site{wheel("foo", "1"), wheel("foo", "2")}, ask: "foo", version: "1", warnings: []Code{CodeShadowed}},
		{name: "legacy first", sites: []site{{"foo-0.egg-info/PKG-INFO": meta("foo", "0")}, wheel("foo", "2")}, ask: "foo", wantErr: CodeLegacy},
		{name: "legacy beside", sites: []site{{"foo-0.egg-info/PKG-INFO": "", "foo-1.dist-info/METADATA": meta("foo", "1"), "foo-1.dist-info/RECORD": rec}}, ask: "foo", wantErr: CodeAmbiguous},
		{name: "leftover before", sites: []site{{"foo-0.dist-info/": ""}, wheel("foo", "2")}, ask: "foo", version: "2", warnings: []Code{CodeLeftover}},
		{name: "two spellings", sites: []site{{"foo_b-1.dist-info/METADATA": meta("foo-b", "1"), "Foo.B-1.dist-info/METADATA": meta("foo-b", "1")}}, ask: "foo-b", wantErr: CodeAmbiguous},
		{name: "dash in folder", sites: []site{wheel("foo-bar", "1")}, ask: "foo-bar", version: "1"},
		{name: "dash in folder, shorter name", sites: []site{wheel("foo-bar", "1")}, ask: "foo", wantErr: CodeNotInstalled},
		{name: "other name inside", sites: []site{{"foo-1.dist-info/METADATA": meta("evil", "1"), "foo-1.dist-info/RECORD": rec}}, ask: "foo", wantErr: CodeNameMismatch},
		{name: "other version inside", sites: []site{{"foo-1.dist-info/METADATA": meta("foo", "2"), "foo-1.dist-info/RECORD": rec}}, ask: "foo", version: "2", warnings: []Code{CodeNameMismatch}},
		{name: "metadata broken", sites: []site{{"foo-1.dist-info/METADATA": "garbage", "foo-1.dist-info/RECORD": rec}}, ask: "foo", wantErr: CodeMetadataMalformed},
		{name: "another's metadata broken", sites: []site{{"foo-bar-1.dist-info/METADATA": "garbage"}, wheel("foo-bar", "2")}, ask: "foo-bar", version: "2"},
		{name: "direct_url broken", sites: []site{{"foo-1.dist-info/METADATA": meta("foo", "1"), "foo-1.dist-info/RECORD": rec, "foo-1.dist-info/direct_url.json": "{"}}, ask: "foo", wantErr: CodeMetadataMalformed},
		{name: "folder is a file", sites: []site{{"foo-1.dist-info": ""}}, ask: "foo", wantErr: CodeNotRegular},
		{name: "RECORD is a folder", sites: []site{{"foo-1.dist-info/METADATA": meta("foo", "1"), "foo-1.dist-info/RECORD/": ""}}, ask: "foo", wantErr: CodeNotRegular},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			search := Search{Paths: []string{filepath.Join(root, "absent"), filepath.Join(root, "python.zip")}}
			write(t, filepath.Join(root, "python.zip"), "PK")
			for i, s := range tt.sites {
				search.Paths = append(search.Paths, s.make(t, filepath.Join(root, string(rune('a'+i)))))
			}
			d, err := FindDistribution(t.Context(), search, tt.ask)
			if tt.wantErr != "" {
				if !errors.Is(err, tt.wantErr) || d != nil {
					t.Fatalf("got %v, %v; want %s", d, err, tt.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var warned []Code
			for _, w := range d.Warnings {
				warned = append(warned, w.Code)
			}
			if diff := cmp.Diff(tt.warnings, warned); diff != "" || d.Version != tt.version {
				t.Errorf("version %s, warnings %s", d.Version, diff)
			}
		})
	}
}

func TestFindDistributionPaths(t *testing.T) {
	root := t.TempDir()
	venv := filepath.Join(root, "venv")
	s := site{
		"foo-1.dist-info/METADATA": meta("foo", "1"),
		"foo-1.dist-info/RECORD":   rowOf("foo.py", "x") + "../../../bin/foo,,\n../../../../outside,,\n../../../lib64/python3.12/site-packages/foo.py,,\n",
		"foo.py":                   "x",
	}
	sp := s.make(t, filepath.Join(venv, "lib", "python3.12", "site-packages"))
	write(t, filepath.Join(venv, "bin", "foo"), "#!")
	write(t, filepath.Join(root, "outside"), "")
	if err := os.Symlink("lib", filepath.Join(venv, "lib64")); err != nil {
		t.Fatal(err)
	}
	d, err := FindDistribution(t.Context(), Search{Paths: []string{filepath.Join(venv, "lib64", "python3.12", "site-packages"), sp}}, "foo")
	if err != nil {
		t.Fatal(err)
	}
	if d.Prefix != venv || d.Site != sp || len(d.Warnings) != 0 {
		t.Errorf("prefix %s, site %s, warnings %v", d.Prefix, d.Site, d.Warnings)
	}
	inv, err := d.Inventory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(inv.Files) != 2 || len(inv.Refused) != 2 || inv.Refused[0].Code != CodeOutside || inv.Refused[1].Code != CodeNotRegular {
		t.Errorf("%+v", inv)
	}
	for _, bad := range []Search{{Paths: []string{"relative"}}, {Paths: []string{""}}, {Paths: []string{sp}, Prefix: "rel"}, {Paths: []string{sp}, Prefix: filepath.Join(venv, "bin")}} {
		if _, err := FindDistribution(t.Context(), bad, "foo"); !errors.Is(err, CodeInvalidArgument) {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

func TestDerivedPrefix(t *testing.T) {
	for in, want := range map[string]string{
		"/v/lib/python3.12/site-packages":    "/v",
		"/usr/lib64/python3.9/site-packages": "/usr",
		"/usr/lib/python3/dist-packages":     "/usr",
		"/v/lib/pypy3.10/site-packages":      "/v",
		"/v/lib/site-packages":               "/v",
		"/lib/python3/dist-packages":         "/",
		"/x/site-packages":                   "/x/site-packages",
		"/x/python3.1/site-packages":         "/x/python3.1/site-packages",
		"/opt/target":                        "/opt/target",
		"/":                                  "/",
	} {
		if got := derivedPrefix(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

// Nothing recorded is opened or followed, whatever stands in its place.
func TestInventoryHostile(t *testing.T) {
	root := testenv.CopyTree(t, data(t, "inputs", "dist", "good"))
	pkg := filepath.Join(root, "demo_pkg")
	var extra strings.Builder
	for _, name := range []string{"fifo", "link", "dir", "deep/../../demo_pkg/hard", "hard", "ldir/x"} {
		extra.WriteString(rowOf("demo_pkg/"+name, "x"))
	}
	rec := filepath.Join(root, demoDistInfo, "RECORD")
	old, err := os.ReadFile(rec)
	if err != nil {
		t.Fatal(err)
	}
	write(t, rec, string(old)+extra.String())
	write(t, filepath.Join(pkg, "hard"), "x")
	err = errors.Join(syscall.Mkfifo(filepath.Join(pkg, "fifo"), 0o644), os.Symlink("/etc/passwd", filepath.Join(pkg, "link")),
		os.Mkdir(filepath.Join(pkg, "dir"), 0o755), os.Symlink("/etc", filepath.Join(pkg, "ldir")),
		os.Link(filepath.Join(pkg, "hard"), filepath.Join(root, "other-name")))
	if err != nil {
		t.Fatal(err)
	}
	d, err := FindDistribution(t.Context(), Search{Paths: []string{root}}, demoPkg)
	if err != nil {
		t.Fatal(err)
	}
	inv, err := d.Inventory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	refused := map[string]Code{}
	for _, r := range inv.Refused {
		refused[r.Row.Path] = r.Code
	}
	want := map[string]Code{"demo_pkg/fifo": CodeNotRegular, "demo_pkg/link": CodeNotRegular, "demo_pkg/dir": CodeNotRegular, "demo_pkg/ldir/x": CodeNotRegular}
	if diff := cmp.Diff(want, refused); diff != "" {
		t.Error(diff)
	}
	if n := len(inv.Files); n != 6 || inv.Files[5].Links != 2 {
		t.Errorf("%d files: %+v", n, inv.Files[n-1])
	}
	rep, err := d.Verify(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if rep.Counts[FileNotRegular] != 4 || rep.Verified() {
		t.Errorf("%+v", rep.Counts)
	}
}

func TestInstalledBytes(t *testing.T) {
	a := InstalledFile{Size: 5, File: FileID{Dev: 1, Ino: 2}}
	b := InstalledFile{Size: 7, File: FileID{Dev: 1, Ino: 3}}
	if n := InstalledBytes([]InstalledFile{a, a, b}); n != 12 {
		t.Errorf("got %d, want 12", n)
	}
}
