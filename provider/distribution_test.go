package provider

import (
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-measure/provider-measure/digest"
	"github.com/provider-measure/provider-measure/internal/testenv"
	"github.com/provider-measure/provider-measure/probe"
)

// recordDigest is the rule of CONTRACT section 3, written a second time.
func recordDigest(t testing.TB, data []byte) string {
	t.Helper()
	text := strings.ReplaceAll(strings.ReplaceAll(string(data), "\r\n", "\n"), "\r", "\n")
	var rows [][3]string
	for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		fields, err := csv.NewReader(strings.NewReader(line)).Read()
		if err != nil {
			t.Fatal(err)
		}
		row := [3]string{path.Clean(fields[0]), "-", "-"}
		if len(fields) > 1 && fields[1] != "" {
			algorithm, hash, _ := strings.Cut(fields[1], "=")
			row[1] = algorithm + ":" + hash
		}
		if len(fields) > 2 && fields[2] != "" {
			n, err := strconv.Atoi(fields[2])
			if err != nil {
				t.Fatal(err)
			}
			row[2] = strconv.Itoa(n)
		}
		rows = append(rows, row)
	}
	sort.SliceStable(rows, func(i, j int) bool { return rows[i][0] < rows[j][0] })
	h := sha256.New()
	for _, r := range rows {
		h.Write([]byte(r[0] + "\x00" + r[1] + "\x00" + r[2] + "\n"))
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

const demoInfo = "demo_pkg-1.0.dist-info"

func remove(t testing.TB, parts ...string) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(parts...)); err != nil {
		t.Fatal(err)
	}
}

func rename(t testing.TB, dir, from, to string) {
	t.Helper()
	if err := os.Rename(filepath.Join(dir, from), filepath.Join(dir, to)); err != nil {
		t.Fatal(err)
	}
}

func appendTo(t testing.TB, file, text string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	write(t, file, string(data)+text)
}

func TestIdentifyReportedDistributions(t *testing.T) {
	m := distManifest(t, "")
	covered := map[string]bool{}
	for _, tt := range []struct {
		name     string
		info     string // metadata folder, when AVAILABLE
		licences []string
		warning  string
		want     want
	}{
		{name: "good", info: demoInfo},
		{name: "tampered-py", info: demoInfo},
		{name: "hash-hex", info: demoInfo},
		{name: "hash-md5", info: demoInfo},
		{name: "hash-sha512", info: demoInfo},
		{name: "comma-quoted", info: demoInfo},
		{name: "pyc-rows", info: demoInfo},
		{name: "record-crlf", info: demoInfo},
		{name: "name-dotted", info: "Demo.Pkg-1.0.dist-info"},
		{name: "license-trap", info: demoInfo},
		{name: "license-pep639", info: demoInfo, licences: []string{demoInfo + "/licenses/LICENSE", demoInfo + "/licenses/vendor/LICENSE"}},
		{name: "empty-older", info: demoInfo, warning: "demo_pkg-0.9.dist-info"},
		{name: "missing-file", want: want{CodeUnavailable, ReasonRecordedMissing, []string{"demo_pkg/__init__.py"}, "install", "demo_pkg/__init__.py"}},
		{name: "comma-unquoted", want: want{CodeMalformedRuntime, digest.CodeRecordMalformed, []string{"5"}, "--ignore-installed", "RECORD"}},
		{name: "dup-different", want: want{CodeMalformedRuntime, ReasonRecordConflict, []string{`"demo_pkg/__init__.py"`, "lines 1 and 2"}, "install", "RECORD"}},
		{name: "path-absolute", want: want{CodeMalformedRuntime, ReasonRecordedRefused, []string{"/usr/bin/env", "absolute"}, "install", "/usr/bin/env"}},
		{name: "path-escape", want: want{CodeMalformedRuntime, ReasonRecordedRefused, []string{"../etc/passwd", "leads out"}, "install", "etc/passwd"}},
		{name: "no-record", want: want{CodeMalformedRuntime, digest.CodeRecordMissing, []string{"no RECORD (INSTALLER: pip)"}, "--ignore-installed", demoInfo}},
		{name: "empty-record", want: want{CodeMalformedRuntime, digest.CodeRecordEmpty, []string{"RECORD has no rows"}, "--ignore-installed", "RECORD"}},
		{name: "two-versions", want: want{CodeMalformedRuntime, digest.CodeAmbiguous, []string{"demo_pkg-0.9.dist-info", demoInfo}, "remove", "site-packages"}},
		{name: "editable", want: want{CodeUnavailable, ReasonEditable, []string{"editable install", "/nonexistent/checkout", "gone"}, "SOURCE_TREE", demoInfo}},
		{name: "egg-info", want: want{CodeMalformedRuntime, digest.CodeLegacy, []string{"legacy metadata, no hashes"}, "wheel", "egg-info"}},
	} {
		covered[tt.name] = true
		t.Run(tt.name, func(t *testing.T) {
			site, h := distVenv(t, tt.name)
			id := identify(t, h, m)
			if tt.info == "" {
				tt.want.check(t, id.Failure)
				if got := id.Runtime.Record(); len(got.LicenseFiles) != 0 || string(got.Configuration) != "{}" {
					t.Errorf("an UNAVAILABLE record claims %+v", got)
				}
				return
			}
			if id.Failure != nil {
				t.Fatal(id.Failure, id.Failure.ReasonText())
			}
			data, err := os.ReadFile(filepath.Join(site, tt.info, "RECORD"))
			if err != nil {
				t.Fatal(err)
			}
			got := id.Runtime.Record()
			if want := recordDigest(t, data); id.Runtime.Digest().String() != want || *got.Version != "1.0" || *got.ImportName != "demo_pkg" {
				t.Errorf("digest %s, want %s: %+v", id.Runtime.Digest(), want, got)
			}
			if diff := cmp.Diff(append([]string{}, tt.licences...), got.LicenseFiles); diff != "" {
				t.Error(diff)
			}
			if string(got.Configuration) != `{"distribution":"demo-pkg"}` || id.Measured.Inventory == nil || id.Measured.Distribution == nil {
				t.Errorf("configuration %s, measured %+v", got.Configuration, id.Measured)
			}
			if all := strings.Join(id.Warnings, "\n"); (tt.warning == "") != (all == "") || !strings.Contains(all, tt.warning) || strings.Contains(all, "verified") {
				t.Errorf("warnings %q, want %q", all, tt.warning)
			}
			if err := h.Revalidate(t.Context(), id.Runtime); err != nil {
				t.Error("revalidate:", err)
			}
		})
	}
	entries, err := os.ReadDir(input(t, "dist"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !covered[e.Name()] {
			t.Errorf("no case for dist/%s", e.Name())
		}
	}
}

// The manifest digest is that of RECORD: an edited file is found by verify_files
// only, and a carriage return or the spelling of the name changes nothing.
func TestRecordDigestCoversRecordOnly(t *testing.T) {
	m := distManifest(t, "")
	digestOf := func(name string) string {
		_, h := distVenv(t, name)
		return identifyAvailable(t, h, m).Runtime.Digest().String()
	}
	if digestOf("good") != digestOf("tampered-py") {
		t.Error("the edited file changed the manifest digest")
	}
	site, h := distVenv(t, "record-crlf")
	crlf := identifyAvailable(t, h, m)
	file := filepath.Join(site, demoInfo, "RECORD")
	data, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(data), "\r\n") {
		t.Fatalf("the input has no CRLF: %q, %v", data, err)
	}
	write(t, file, strings.ReplaceAll(string(data), "\r\n", "\n"))
	if lf := identifyAvailable(t, h, m); lf.Runtime.Digest() != crlf.Runtime.Digest() {
		t.Error("LF and CRLF differ")
	}
	for _, spelling := range []string{"demo-pkg", "Demo.Pkg", "DEMO__pkg", "demo_pkg"} {
		_, h := distVenv(t, "name-dotted")
		text := strings.Replace(distText(), "distribution = 'demo-pkg'", "distribution = '"+spelling+"'", 1)
		id := identifyAvailable(t, h, manifest(t, tempDir(t), text))
		if got := string(id.Runtime.Record().Configuration); got != `{"distribution":"`+spelling+`"}` {
			t.Error(got)
		}
	}
}

func TestVerifyFiles(t *testing.T) {
	m := distManifest(t, "verify_files = true\n")
	for name, w := range map[string]want{
		"tampered-py": {CodeUnavailable, ReasonFilesDiffer, []string{"demo_pkg/__init__.py", "modified"}, "install", "demo_pkg/__init__.py"},
		"hash-md5":    {CodeUnavailable, ReasonFilesDiffer, []string{"demo_pkg/__init__.py", "weak_hash"}, "install", "demo_pkg/__init__.py"},
		"hash-hex":    {CodeUnavailable, ReasonFilesDiffer, []string{"demo_pkg/__init__.py", "malformed_hash"}, "install", ""},
	} {
		_, h := distVenv(t, name)
		w.check(t, identify(t, h, m).Failure)
	}
	for _, name := range []string{"good", "hash-sha512", "pyc-rows"} {
		_, h := distVenv(t, name)
		identifyAvailable(t, h, m)
	}
	site, h := distVenv(t, "good")
	data, err := os.ReadFile(filepath.Join(site, "demo_pkg", "__init__.py"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(site, "demo_pkg", "__init__.py"), strings.ReplaceAll(string(data), "\n", "\r\n"))
	want{CodeUnavailable, ReasonFilesDiffer, []string{"only in line endings"}, "", ""}.check(t, identify(t, h, m).Failure)
}

// What an interrupted install or uninstall leaves behind.
func TestHalfUninstalled(t *testing.T) {
	m := distManifest(t, "")
	for _, tt := range []struct {
		name string
		do   func(t *testing.T, site string)
		want want
	}{
		{"nothing", func(t *testing.T, site string) { remove(t, site, "demo_pkg"); remove(t, site, demoInfo) },
			want{CodeUnavailable, digest.CodeNotInstalled, []string{"not installed"}, "pip install demo-pkg==1.0", ""}},
		{"package gone", func(t *testing.T, site string) { remove(t, site, "demo_pkg") },
			want{CodeUnavailable, ReasonRecordedMissing, []string{"demo_pkg/__init__.py"}, "install", ""}},
		{"dist-info gone", func(t *testing.T, site string) { remove(t, site, demoInfo) },
			want{CodeUnavailable, digest.CodeNoMetadata, []string{"no metadata"}, "remove the remains", ""}},
		{"RECORD gone", func(t *testing.T, site string) { remove(t, site, demoInfo, "RECORD") },
			want{CodeMalformedRuntime, digest.CodeRecordMissing, []string{"no RECORD (INSTALLER: pip)"}, "--ignore-installed", ""}},
		{"RECORD and INSTALLER gone", func(t *testing.T, site string) {
			remove(t, site, demoInfo, "RECORD")
			remove(t, site, demoInfo, "INSTALLER")
		}, want{CodeMalformedRuntime, digest.CodeRecordMissing, []string{"INSTALLER: unknown"}, "", ""}},
		{"METADATA gone", func(t *testing.T, site string) { remove(t, site, demoInfo, "METADATA") },
			want{CodeUnavailable, digest.CodeLeftover, []string{"remains"}, "remove the remains", demoInfo}},
		{"METADATA empty", func(t *testing.T, site string) { write(t, filepath.Join(site, demoInfo, "METADATA"), "") },
			want{CodeMalformedRuntime, digest.CodeMetadataMalformed, nil, "--ignore-installed", "METADATA"}},
		{"METADATA of another", func(t *testing.T, site string) {
			write(t, filepath.Join(site, demoInfo, "METADATA"), "Name: other\nVersion: 1.0\n")
		}, want{CodeMalformedRuntime, digest.CodeNameMismatch, []string{"other"}, "", demoInfo}},
		{"pip's renamed folders", func(t *testing.T, site string) {
			rename(t, site, "demo_pkg", "~emo_pkg")
			rename(t, site, demoInfo, "~emo_pkg-1.0.dist-info")
		}, want{CodeUnavailable, digest.CodeLeftover, []string{"remains"}, "remove the remains", "~emo_pkg-1.0.dist-info"}},
		{"doubled", func(t *testing.T, site string) {
			testenv.CopyTreeTo(t, filepath.Join(site, demoInfo), filepath.Join(site, "demo_pkg-1.1.dist-info"))
		}, want{CodeMalformedRuntime, digest.CodeAmbiguous, []string{demoInfo, "demo_pkg-1.1.dist-info"}, "remove", ""}},
		{"RECORD cut", func(t *testing.T, site string) {
			write(t, filepath.Join(site, demoInfo, "RECORD"), "demo_pkg/__init__.py,")
		},
			want{CodeMalformedRuntime, digest.CodeRecordNoHash, nil, "", "RECORD"}},
		{"RECORD of zeros", func(t *testing.T, site string) {
			write(t, filepath.Join(site, demoInfo, "RECORD"), strings.Repeat("\x00", 100))
		}, want{CodeMalformedRuntime, digest.CodeRecordMalformed, nil, "", "RECORD"}},
		{"package a link", func(t *testing.T, site string) {
			rename(t, site, "demo_pkg", "real")
			symlink(t, "real", filepath.Join(site, "demo_pkg"))
		}, want{CodeMalformedRuntime, ReasonRecordedRefused, []string{"symbolic link"}, "", ""}},
		{"another version", func(t *testing.T, site string) {
			write(t, filepath.Join(site, demoInfo, "METADATA"), "Name: demo-pkg\nVersion: 1.1\n")
		}, want{CodeUnavailable, ReasonVersionSkew, []string{"version 1.1 is installed, the manifest pins 1.0"}, "version 1.0", demoInfo}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			site, h := distVenv(t, "good")
			rt := identifyAvailable(t, h, m).Runtime
			tt.do(t, site)
			tt.want.check(t, identify(t, h, m).Failure)
			err := h.Revalidate(t.Context(), rt)
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("revalidated: %v", err)
			}
			code := tt.want.code
			if strings.HasPrefix(tt.name, "another version") {
				code = CodeIdentityChanged
			}
			if e.Code != code || e.Provider != m.ID {
				t.Errorf("revalidate: %s of %q, want %s: %v", e.Code, e.Provider, code, err)
			}
		})
	}
	// pip's leavings beside a good install are a warning.
	site, h := distVenv(t, "good")
	if err := os.Mkdir(filepath.Join(site, "~emo_pkg-0.9.dist-info"), 0o755); err != nil {
		t.Fatal(err)
	}
	if id := identifyAvailable(t, h, m); len(id.Warnings) != 1 || !strings.Contains(id.Warnings[0], "~emo_pkg") {
		t.Errorf("warnings %q", id.Warnings)
	}
}

// marker makes the package tell when it is imported.
func marker(t *testing.T, site string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "imported")
	write(t, filepath.Join(site, "demo_pkg", "__init__.py"), "import os\nVALUE = 1\ntry:\n    open("+strconv.Quote(path)+", 'w').close()\nexcept OSError:\n    import sys; print('IMPORTED', file=sys.stderr); raise SystemExit('IMPORTED')\n")
	return path
}

// Nothing of the provider is imported but by Ready. The probe's isolation keeps
// the module from writing the marker, so it fails aloud instead.
func TestIdentifyImportsNothing(t *testing.T) {
	m := distManifest(t, "required_attributes = ['VALUE', 'absent']\n")
	site, _ := distVenv(t, "good")
	path := marker(t, site)
	ran := 0
	h := NewHost(newSet(t, m), HostOptions{
		Python: filepath.Join(site, "..", "..", ".."), TempDir: t.TempDir(),
		Run: countRuns(&ran),
	})
	id := identifyAvailable(t, h, m)
	if err := h.Revalidate(t.Context(), id.Runtime); err != nil {
		t.Error(err)
	}
	if ran != 0 || exists(path) {
		t.Fatalf("%d processes, marker %v", ran, exists(path))
	}
	err := h.Ready(t.Context(), m, id.Runtime, id.Measured)
	if ran != 1 {
		t.Errorf("%d processes", ran)
	}
	if !exists(path) && (err == nil || !strings.Contains(err.Error(), "IMPORTED")) {
		t.Errorf("Ready did not import: %v", err)
	}
}

func TestReadyImports(t *testing.T) {
	site, h := distVenv(t, "good")
	m := distManifest(t, "required_attributes = ['VALUE', 'os']\n")
	rt := identifyAvailable(t, h, m).Runtime
	for _, tt := range []struct {
		name, text string
		want       *want
	}{
		{"good", "import os\nVALUE = 1\n", nil},
		{"attribute missing", "VALUE = 1\n", &want{CodeReadinessFailed, ReasonAttributeMissing, []string{"no attribute os"}, "", ""}},
		{"raises", "raise ImportError('no ' + 'libfoo.so')\n", &want{CodeReadinessFailed, ReasonImportFailed, []string{"ImportError: no libfoo.so"}, "", ""}},
		{"exits", "raise SystemExit(0)\n", &want{CodeReadinessFailed, ReasonImportFailed, nil, "", ""}},
		{"syntax", "(\n", &want{CodeReadinessFailed, ReasonImportFailed, []string{"SyntaxError"}, "", ""}},
		{"killed", "import os\nos.kill(os.getpid(), 9)\n", &want{CodeReadinessFailed, ReasonImportFailed, []string{"SIGKILL"}, "", ""}},
		{"prints", "import os\nprint('x' * 1000)\nVALUE = 1\n", nil},
	} {
		write(t, filepath.Join(site, "demo_pkg", "__init__.py"), tt.text)
		err := h.Ready(t.Context(), nil, rt, Measured{})
		if tt.want == nil {
			if err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
			continue
		}
		tt.want.check(t, err)
	}
	record := rt.Record()
	record.ImportName, record.RequiredAttribs = nil, nil
	nameless, err := NewRuntime(record)
	if err != nil {
		t.Fatal(err)
	}
	want{code: CodeIdentityIncomplete, reason: ReasonRecordIncomplete}.check(t, h.Ready(t.Context(), nil, nameless, Measured{}))
	if err := h.Revalidate(t.Context(), nameless); err != nil {
		t.Error("without an import name the rest is still measured:", err)
	}
	fails := NewHost(nil, HostOptions{Python: filepath.Join(site, "..", "..", ".."), Run: failRun(&probe.Error{Code: probe.CodeScratch, Err: os.ErrPermission})})
	want{code: CodeReadinessFailed, reason: probe.CodeScratch}.check(t, fails.Ready(t.Context(), nil, rt, Measured{}))
}

func TestImportIsOfTheDistribution(t *testing.T) {
	for _, tt := range []struct {
		name     string
		manifest string // replaces the import name
		do       func(t *testing.T, site string)
		want     *want
	}{
		{"a stranger's name in RECORD", "", func(t *testing.T, site string) {
			write(t, filepath.Join(site, "json", "__init__.py"), "")
			appendTo(t, filepath.Join(site, demoInfo, "RECORD"), "json/__init__.py,,\n")
		}, nil},
		{"standard library", "json", func(t *testing.T, site string) {
			write(t, filepath.Join(site, "json", "__init__.py"), "")
			appendTo(t, filepath.Join(site, demoInfo, "RECORD"), "json/__init__.py,,\n")
		}, &want{CodeUnavailable, ReasonImportShadowed, []string{"import json would load", "json/__init__.py"}, "", ""}},
		{"package that RECORD does not name", "stray", func(t *testing.T, site string) {
			write(t, filepath.Join(site, "stray", "__init__.py"), "")
		}, &want{CodeUnavailable, ReasonImportShadowed, []string{"stray/__init__.py", "does not name"}, "remove", "stray/__init__.py"}},
		{"no module", "absent", func(*testing.T, string) {}, &want{CodeUnavailable, ReasonImportMissing, []string{`module "absent" is not to be found`}, "install", ""}},
		{"module hidden by a package", "", func(t *testing.T, site string) {
			// A package goes before a module: the recorded one is not what loads.
			rename(t, site, "demo_pkg", "kept")
			write(t, filepath.Join(site, "demo_pkg.py"), "")
			write(t, filepath.Join(site, "demo_pkg", "__init__.py"), "")
			write(t, filepath.Join(site, demoInfo, "RECORD"), "demo_pkg.py,sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,0\n")
		}, &want{CodeUnavailable, ReasonImportShadowed, []string{"demo_pkg/__init__.py"}, "", ""}},
		{"extension module", "fast", func(t *testing.T, site string) {
			write(t, filepath.Join(site, "fast.abi3.so"), "")
			appendTo(t, filepath.Join(site, demoInfo, "RECORD"), "fast.abi3.so,,\n")
		}, nil},
		{"extension module hides source", "fast", func(t *testing.T, site string) {
			write(t, filepath.Join(site, "fast.so"), "")
			write(t, filepath.Join(site, "fast.py"), "")
			appendTo(t, filepath.Join(site, demoInfo, "RECORD"), "fast.py,,\n")
		}, &want{CodeUnavailable, ReasonImportShadowed, []string{"fast.so"}, "", "fast.so"}},
		{"namespace package", "space.inner", func(t *testing.T, site string) {
			write(t, filepath.Join(site, "space", "inner.py"), "")
			appendTo(t, filepath.Join(site, demoInfo, "RECORD"), "space/inner.py,,\n")
		}, nil},
		{"namespace itself", "space", func(t *testing.T, site string) {
			write(t, filepath.Join(site, "space", "inner.py"), "")
			appendTo(t, filepath.Join(site, demoInfo, "RECORD"), "space/inner.py,,\n")
		}, nil},
		{"namespace of another", "space", func(t *testing.T, site string) {
			write(t, filepath.Join(site, "space", "inner.py"), "")
		}, &want{CodeUnavailable, ReasonImportShadowed, []string{"space"}, "", ""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			site, h := distVenv(t, "good")
			tt.do(t, site)
			text := distText()
			if tt.manifest != "" {
				text = strings.Replace(text, "'demo_pkg'", "'"+tt.manifest+"'", 1)
			}
			id := identify(t, h, manifest(t, tempDir(t), text))
			if tt.want == nil {
				if id.Failure != nil {
					t.Fatal(id.Failure)
				}
				return
			}
			tt.want.check(t, id.Failure)
		})
	}
}

// A copy in an environment that comes first on the path is what would run.
func TestShadowedInstallation(t *testing.T) {
	m := distManifest(t, "")
	site, h := distVenv(t, "good")
	later := tempDir(t)
	testenv.CopyTreeTo(t, input(t, "dist", "good"), later)
	write(t, filepath.Join(site, "more.pth"), later+"\n")
	id := identifyAvailable(t, h, m)
	if len(id.Warnings) != 1 || !strings.Contains(id.Warnings[0], string(digest.CodeShadowed)) {
		t.Errorf("warnings %q", id.Warnings)
	}
	if id.Measured.Distribution.Site != site {
		t.Errorf("measured in %s", id.Measured.Distribution.Site)
	}
	// Without metadata of its own, the folder in front hides the measured one.
	site, h = venv(t)
	testenv.CopyTreeTo(t, input(t, "dist", "good"), later)
	write(t, filepath.Join(site, "more.pth"), later+"\n")
	write(t, filepath.Join(site, "demo_pkg", "__init__.py"), "")
	want{CodeUnavailable, ReasonImportShadowed, []string{filepath.Join(site, "demo_pkg")}, "remove", ""}.check(t, identify(t, h, m).Failure)
}

func TestRevalidateDistribution(t *testing.T) {
	m := distManifest(t, "")
	for _, tt := range []struct {
		name string
		do   func(t *testing.T, site string)
		want *want
	}{
		{"unchanged", func(*testing.T, string) {}, nil},
		{"file edited", func(t *testing.T, site string) { appendTo(t, filepath.Join(site, "demo_pkg", "__init__.py"), "#") }, nil},
		{"bytecode made", func(t *testing.T, site string) {
			write(t, filepath.Join(site, "demo_pkg", "__pycache__", "__init__.cpython-311.pyc"), "x")
		}, nil},
		{"RECORD edited", func(t *testing.T, site string) {
			appendTo(t, filepath.Join(site, demoInfo, "RECORD"), "demo_pkg/__init__.py,,\n")
		}, &want{CodeIdentityChanged, ReasonDigestDiffers, []string{"recorded sha256:"}, "identify", demoInfo}},
		{"other version", func(t *testing.T, site string) {
			rename(t, site, demoInfo, "demo_pkg-1.1.dist-info")
			write(t, filepath.Join(site, "demo_pkg-1.1.dist-info", "METADATA"), "Name: demo-pkg\nVersion: 1.1\n")
			appendTo(t, filepath.Join(site, "demo_pkg-1.1.dist-info", "RECORD"), "demo_pkg/__init__.py,,\n")
		}, &want{CodeIdentityChanged, ReasonVersionSkew, []string{"version 1.1 is installed, 1.0 is recorded"}, "", ""}},
		{"editable now", func(t *testing.T, site string) {
			write(t, filepath.Join(site, demoInfo, "direct_url.json"), `{"url":"file:///x","dir_info":{"editable":true}}`)
		}, &want{CodeUnavailable, ReasonEditable, nil, "", ""}},
		{"shadowed now", func(t *testing.T, site string) { write(t, filepath.Join(site, "demo_pkg", "__init__.so"), "") },
			&want{CodeUnavailable, ReasonImportShadowed, nil, "", ""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			site, h := distVenv(t, "good")
			rt := identifyAvailable(t, h, m).Runtime
			fresh := NewHost(nil, HostOptions{Python: filepath.Join(site, "..", "..", "..")})
			var read Runtime
			if err := read.UnmarshalJSON(encode(t, rt)); err != nil {
				t.Fatal(err)
			}
			tt.do(t, site)
			err := fresh.Revalidate(t.Context(), read)
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

func TestPinOfDistribution(t *testing.T) {
	_, h := distVenv(t, "good")
	digest := identifyAvailable(t, h, distManifest(t, "")).Runtime.Digest().String()
	pin := func(d string) *Manifest { return distManifest(t, "digest = { "+h.Platform()+" = '"+d+"' }\n") }
	identifyAvailable(t, h, pin(digest))
	want{CodeUnavailable, ReasonDigestPin, []string{digest, sampleDigest}, "pinned build", demoInfo}.check(t, identify(t, h, pin(sampleDigest)).Failure)
}
