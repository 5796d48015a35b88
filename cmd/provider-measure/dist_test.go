package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/provider-measure/provider-measure/internal/testenv"
)

// recordRule is the rule of PYTHON_DISTRIBUTION_RECORD in Python's own words,
// with its csv module: every row, sorted by path.
const recordRule = `
import csv, hashlib, pathlib, posixpath, sys
rows = []
for row in csv.reader(pathlib.Path(sys.argv[1]).read_bytes().decode("utf-8").splitlines()):
    path, integrity, size = (row + ["", ""])[:3]
    algorithm, _, value = integrity.partition("=")
    rows.append((posixpath.normpath(path), f"{algorithm}:{value}" if integrity else "-", str(int(size)) if size else "-"))
rows.sort(key=lambda row: row[0].encode())
print("sha256:" + hashlib.sha256("".join("\0".join(row) + "\n" for row in rows).encode()).hexdigest())`

// recordDigest computes a digest a second time, by another implementation.
func recordDigest(t testing.TB, python, record string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), python, "-I", "-S", "-c", recordRule, record).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// distCase is what identify says of one folder of testdata/inputs/dist.
type distCase struct {
	code, reason string // "" when it is AVAILABLE
	says         string // in the message
	path         string // end of the error's path
	record       string // folder of the RECORD that was measured
	warning      string
	licences     string
}

func distCases() map[string]distCase {
	good := distCase{record: "demo_pkg-1.0.dist-info"}
	return map[string]distCase{
		"good": good, "tampered-py": good, "comma-quoted": good, "hash-hex": good, "hash-md5": good, "hash-sha512": good,
		"pyc-rows": good, "record-crlf": good, "license-trap": good,
		"license-pep639": {
			record:   "demo_pkg-1.0.dist-info",
			licences: "demo_pkg-1.0.dist-info/licenses/LICENSE demo_pkg-1.0.dist-info/licenses/vendor/LICENSE",
		},
		"name-dotted":    {record: "Demo.Pkg-1.0.dist-info"},
		"empty-older":    {record: "demo_pkg-1.0.dist-info", warning: "demo_pkg-0.9.dist-info: remains of another installation"},
		"missing-file":   {code: "UNAVAILABLE", reason: "provider.recorded_file_missing", says: `"demo_pkg/__init__.py"`, path: "/demo_pkg/__init__.py"},
		"comma-unquoted": {code: "MALFORMED_RUNTIME", reason: "digest.record_malformed", says: "line 5", path: "/RECORD"},
		"dup-different":  {code: "MALFORMED_RUNTIME", reason: "provider.record_conflict", says: "lines 1 and 2", path: "/RECORD"},
		"path-absolute":  {code: "MALFORMED_RUNTIME", reason: "provider.recorded_path_refused", says: `"/usr/bin/env"`, path: "/usr/bin/env"},
		"path-escape":    {code: "MALFORMED_RUNTIME", reason: "provider.recorded_path_refused", says: "out of the environment", path: "/etc/passwd"},
		"no-record":      {code: "MALFORMED_RUNTIME", reason: "digest.record_missing", says: "no RECORD (INSTALLER: pip)", path: "/demo_pkg-1.0.dist-info"},
		"empty-record":   {code: "MALFORMED_RUNTIME", reason: "digest.record_empty", says: "no rows", path: "/RECORD"},
		"two-versions":   {code: "MALFORMED_RUNTIME", reason: "digest.ambiguous_distribution", says: `"demo_pkg-0.9.dist-info" and "demo_pkg-1.0.dist-info"`},
		"editable":       {code: "UNAVAILABLE", reason: "provider.editable", says: "editable install of file:///nonexistent/checkout, which is gone"},
		"egg-info":       {code: "MALFORMED_RUNTIME", reason: "digest.legacy_metadata", says: "legacy metadata, no hashes", path: ".egg-info"},
	}
}

// TestIdentifyDist identifies demo-pkg in each folder of the handed-over inputs.
func TestIdentifyDist(t *testing.T) {
	folder := filepath.Join(testenv.RepoRoot(t), "testdata", "inputs", "dist")
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	cases := distCases()
	if len(entries) < 22 {
		t.Fatalf("%d inputs, 22 were handed over", len(entries))
	}
	python := findHostPython(t)
	if python == nil {
		testenv.Skip(t, "python", "no python3 on this host")
	}
	for _, e := range entries {
		t.Run(e.Name(), func(t *testing.T) {
			c, ok := cases[e.Name()]
			if !ok {
				t.Fatal("an input without an expectation")
			}
			s := newSandbox(t, false)
			site := python.makeEnvironment(t, s.python, filepath.Join(folder, e.Name()))
			r := s.call(t, "identify", "demo", "--python", s.python, "--providers", s.demo)
			s.emptyTmp(t)
			record := decoded(t, r.stdout)
			if c.code == "" {
				c.available(t, r, record, recordDigest(t, python.Executable, filepath.Join(site, c.record, "RECORD")))
			} else {
				c.unavailable(t, r, record)
			}
		})
	}
}

func decoded(t testing.TB, text string) any {
	t.Helper()
	v, err := decodeJSON(text)
	if err != nil {
		t.Fatalf("standard output: %v\n%s", err, text)
	}
	return v
}

func at(t testing.TB, document any, pointer string) string {
	t.Helper()
	v, ok := atPointer(document, pointer)
	if !ok {
		t.Fatalf("%s is absent", pointer)
	}
	return printJSON(v)
}

func (c distCase) available(t *testing.T, r result, record any, digest string) {
	t.Helper()
	r.want(t, exitGood)
	if got := at(t, record, "/digest"); got != digest {
		t.Errorf("digest %s, want %s", got, digest)
	}
	if got := at(t, record, "/availability"); got != "AVAILABLE" {
		t.Errorf("availability %s", got)
	}
	licences := "[]"
	if c.licences != "" {
		licences = `["` + strings.ReplaceAll(c.licences, " ", `","`) + `"]`
	}
	if got := at(t, record, "/license_files"); got != licences {
		t.Errorf("license_files %s, want %s", got, licences)
	}
	if c.warning == "" && r.stderr != "" || !strings.Contains(r.stderr, c.warning) {
		t.Errorf("standard error %q, want %q", r.stderr, c.warning)
	}
	if strings.Contains(strings.ToLower(r.stdout), "verified") {
		t.Error("a manifest digest is called verified")
	}
}

func (c distCase) unavailable(t *testing.T, r result, record any) {
	t.Helper()
	r.want(t, exitFinding)
	for pointer, want := range map[string]string{"/availability": "UNAVAILABLE", "/digest": "null", "/version": "null", "/digest_kind": "null"} {
		if got := at(t, record, pointer); got != want {
			t.Errorf("%s is %s, want %s", pointer, got, want)
		}
	}
	e := r.failure(t)
	if e.Code != c.code || text(e.Reason) != c.reason {
		t.Errorf("%s %s, want %s %s", e.Code, text(e.Reason), c.code, c.reason)
	}
	if !strings.Contains(e.Message, c.says) || !strings.Contains(at(t, record, "/diagnostic"), c.says) {
		t.Errorf("neither message nor diagnostic may lack %q: %s", c.says, r.stderr)
	}
	if !strings.HasSuffix(text(e.Path), c.path) || text(e.Hint) == "" {
		t.Errorf("path %q, want its end %q; hint %q", text(e.Path), c.path, text(e.Hint))
	}
}
