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
		{
			"nothing", func(t *testing.T, site string) { remove(t, site, "demo_pkg"); remove(t, site, demoInfo) },
			want{CodeUnavailable, digest.CodeNotInstalled, []string{"not installed"}, "pip install demo-pkg==1.0", ""},
		},
		{
			"package gone", func(t *testing.T, site string) { remove(t, site, "demo_pkg") },
			want{CodeUnavailable, ReasonRecordedMissing, []string{"demo_pkg/__init__.py"}, "install", ""},
		},
		{
			"dist-info gone", func(t *testing.T, site string) { remove(t, site, demoInfo) },
			want{CodeUnavailable, digest.CodeNoMetadata, []string{"no metadata"}, "remove the remains", ""},
		},
		{
			"RECORD gone", func(t *testing.T, site string) { remove(t, site, demoInfo, "RECORD") },
			want{CodeMalformedRuntime, digest.CodeRecordMissing, []string{"no RECORD (INSTALLER: pip)"}, "--ignore-installed", ""},
		},
		{"RECORD and INSTALLER gone", func(t *testing.T, site string) {
			remove(t, site, demoInfo, "RECORD")
			remove(t, site, demoInfo, "INSTALLER")
		}, want{CodeMalformedRuntime, digest.CodeRecordMissing, []string{"INSTALLER: unknown"}, "", ""}},
		{
			"METADATA gone", func(t *testing.T, site string) { remove(t, site, demoInfo, "METADATA") },
			want{CodeUnavailable, digest.CodeLeftover, []string{"remains"}, "remove the remains", demoInfo},
		},
		{
			"METADATA empty", func(t *testing.T, site string) { write(t, filepath.Join(site, demoInfo, "METADATA"), "") },
			want{CodeMalformedRuntime, digest.CodeMetadataMalformed, nil, "--ignore-installed", "METADATA"},
		},
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
		{
			"RECORD cut", func(t *testing.T, site string) {
				write(t, filepath.Join(site, demoInfo, "RECORD"), "demo_pkg/__init__.py,")
			},
			want{CodeMalformedRuntime, digest.CodeRecordNoHash, nil, "", "RECORD"},
		},
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
		{
			"shadowed now", func(t *testing.T, site string) { write(t, filepath.Join(site, "demo_pkg", "__init__.so"), "") },
			&want{CodeUnavailable, ReasonImportShadowed, nil, "", ""},
		},
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
