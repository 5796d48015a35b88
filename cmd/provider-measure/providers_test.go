package main

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/provider-measure/provider-measure/internal/testenv"
)

// realHost is where scripts/providers put the real providers.
type realHost struct {
	root   string
	python string // of the virtual environment
	site   string
	s      *sandbox
}

func newRealHost(t testing.TB) *realHost {
	t.Helper()
	h := &realHost{root: testenv.RepoRoot(t), s: newSandbox(t, false)}
	h.python = filepath.Join(h.root, ".providers", "venv", "bin", "python3")
	found, err := filepath.Glob(filepath.Join(h.root, ".providers", "venv", "lib", "python3.*", "site-packages"))
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 {
		testenv.Skip(t, "provider", "the real providers are not in .providers; scripts/providers puts them there")
	}
	h.site = found[0]
	h.s.env = append(h.s.env, "PATH="+filepath.Join(h.root, ".providers", "bin"), "PROVIDER_MEASURE_PYTHON="+h.python)
	return h
}

// wheel is the digest of a wheel's RECORD, by Python.
func (h *realHost) wheel(t testing.TB, name string) string {
	t.Helper()
	record := filepath.Join(h.site, name+".dist-info", "RECORD")
	if _, err := os.Stat(record); err != nil {
		testenv.Skip(t, "provider", name+" is not in .providers")
	}
	return recordDigest(t, h.python, record)
}

func (h *realHost) executable(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(h.root, ".providers", "bin", name))
	if errors.Is(err, fs.ErrNotExist) {
		testenv.Skip(t, "provider", name+" is not in .providers")
	}
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256(data))
}

// workers is the digest of the shipped workers, jacobian.python-package.v2 in
// the words of the contract.
func (h *realHost) workers(t testing.TB) string {
	t.Helper()
	const top = "provider_measure_workers"
	folder := filepath.Join(h.root, "provider", "builtin", "providers", top)
	files := map[string][]byte{}
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.Contains(path, "__pycache__") {
			return err
		}
		rel, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		files["0:"+top+"/"+filepath.ToSlash(rel)] = data
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	sort.Strings(names)
	preimage := []byte("jacobian.python-package.v2\x00" + top + "\x00")
	for _, name := range names {
		preimage = append(binary.BigEndian.AppendUint64(preimage, uint64(len(name))), name...)
		preimage = append(binary.BigEndian.AppendUint64(preimage, uint64(len(files[name]))), files[name]...)
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256(preimage))
}

// composite is the digest over the records of two providers. Maps are printed
// with sorted keys, which is canonical JSON where all is ASCII and integers.
func (h *realHost) composite(t testing.TB, components ...string) string {
	t.Helper()
	var records []any
	for _, name := range components {
		r := h.s.call(t, "identify", name)
		r.want(t, exitGood)
		var record map[string]any
		if err := json.Unmarshal([]byte(r.stdout), &record); err != nil {
			t.Fatal(err)
		}
		records = append(records, record)
	}
	data, err := json.Marshal(records)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256(data))
}

// TestRealProviders measures every built-in capability with its real provider.
func TestRealProviders(t *testing.T) {
	h := newRealHost(t)
	wheel := func(name string) func(testing.TB) string {
		return func(t testing.TB) string { return h.wheel(t, name) }
	}
	executable := func(name string) func(testing.TB) string {
		return func(t testing.TB) string { return h.executable(t, name) }
	}
	cases := map[string]func(testing.TB) string{
		"graph.compute.properties":        wheel("networkx-3.6.1"),
		"symbolic.jacobian":               wheel("sympy-1.14.0"),
		"smt.satisfiability":              wheel("z3_solver-5.4.1.0"),
		"smt.unsat_proof.find":            wheel("cvc5-1.3.4"),
		"matrix.reduced_row_echelon_form": wheel("python_flint-0.9.0"),
		"sat.solve":                       executable("cadical"),
		"go.build.version":                executable("go"),
		"matrix.smith_normal_form":        func(t testing.TB) string { return h.workers(t) },
		"graph.compute.critical_group": func(t testing.TB) string {
			h.wheel(t, "networkx-3.6.1")
			return h.composite(t, "provider-measure-workers", "networkx")
		},
	}
	words, err := completionWords((&session{}).app())
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range words.first {
		if strings.Contains(id, ".") && cases[id] == nil {
			t.Errorf("built-in capability %s is not measured here", id)
		}
	}
	for id, digest := range cases {
		t.Run(id, func(t *testing.T) {
			want := digest(t)
			r := h.s.call(t, id, "--runs", "1")
			wantGood(t, r)
			record := decoded(t, r.stdout)
			if got := at(t, record, "/provider_runtime/digest"); got != want {
				t.Errorf("digest %s, want %s", got, want)
			}
			wantMeasured(t, record)
			h.s.emptyTmp(t)
		})
	}
}

// wantGood wants a measurement without findings, but that a host with other
// things to do may be too slow for the rule of a manifest.
func wantGood(t testing.TB, r result) {
	t.Helper()
	slow := strings.HasPrefix(r.stderr, `{"finding":{"message":"requirement starts-fast `) && strings.Count(r.stderr, "\n") == 1
	if r.status == exitFinding && slow {
		t.Logf("this host is slow: %s", r.stderr)
		return
	}
	r.want(t, exitGood)
	if r.stderr != "" {
		t.Errorf("standard error: %s", r.stderr)
	}
}

// wantMeasured wants every number of a record.
func wantMeasured(t testing.TB, record any) {
	t.Helper()
	for _, part := range []string{"installed_size", "cold_start", "reproduction_case"} {
		if got := at(t, record, "/"+part+"/status"); got != "COMPLETED" {
			t.Errorf("%s is %s: %s", part, got, at(t, record, "/"+part+"/detail"))
		}
	}
	positive := []string{"/installed_size/bytes", "/installed_size/files"}
	for _, part := range []string{"/cold_start", "/reproduction_case"} {
		positive = append(positive, part+"/seconds", part+"/peak_rss_bytes/bytes", part+"/samples/0/processes")
		if method := at(t, record, part+"/peak_rss_bytes/method"); method == "" || method == "null" {
			t.Errorf("%s has no method for its peak memory", part)
		}
	}
	for _, pointer := range positive {
		if got := at(t, record, pointer); got == "null" || got == "0" || strings.HasPrefix(got, "-") {
			t.Errorf("%s is %s", pointer, got)
		}
	}
	if got := at(t, record, "/cold_install/status"); got != "SKIPPED" {
		t.Errorf("cold_install is %s, and was not asked for", got)
	}
}

// indexVariables are what a host may need to reach its index at all.
func indexVariables() []string {
	var out []string
	for _, name := range []string{
		"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
		"SSL_CERT_FILE", "SSL_CERT_DIR", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_CERT", "REQUESTS_CA_BUNDLE", "UV_DEFAULT_INDEX", "UV_INDEX_URL",
	} {
		if value, ok := os.LookupEnv(name); ok {
			out = append(out, name+"="+value)
		}
	}
	return out
}

// TestRealColdInstall installs NetworkX over the network, with uv and with pip.
func TestRealColdInstall(t *testing.T) {
	for _, installer := range []string{"uv", "pip"} {
		t.Run(installer, func(t *testing.T) {
			h := newRealHost(t)
			h.wheel(t, "networkx-3.6.1")
			if installer == "uv" {
				h.executable(t, "uv")
			} else {
				h.s.env = append(h.s.env, "PATH=")
			}
			h.s.env = append(h.s.env, indexVariables()...)
			r := h.s.call(t, "graph.compute.properties", "--include-cold-install", "--runs", "1")
			record := decoded(t, r.stdout)
			detail := at(t, record, "/cold_install/detail")
			if strings.HasPrefix(detail, "measure.network_unreachable") {
				r.want(t, exitFinding)
				testenv.Skip(t, "network", detail)
			}
			wantGood(t, r)
			if got := at(t, record, "/cold_install/status"); got != "COMPLETED" {
				t.Fatalf("cold_install is %s: %s", got, detail)
			}
			if got := at(t, record, "/cold_install/installer"); !strings.HasPrefix(got, installer+" ") {
				t.Errorf("installer %q, want %s with its version", got, installer)
			}
			for _, pointer := range []string{"/cold_install/seconds", "/cold_install/installed_bytes"} {
				if got := at(t, record, pointer); got == "null" || got == "0" {
					t.Errorf("%s is %s", pointer, got)
				}
			}
			h.s.emptyTmp(t)
		})
	}
}

// Installers that can't reach an index say so, and leave nothing.
func TestRealColdInstallWithoutNetwork(t *testing.T) {
	h := newRealHost(t)
	h.wheel(t, "networkx-3.6.1")
	// Nobody listens on the discard port of this host.
	h.s.env = append(h.s.env, "UV_DEFAULT_INDEX=http://127.0.0.1:9/simple", "PIP_INDEX_URL=http://127.0.0.1:9/simple")
	r := h.s.call(t, "graph.compute.properties", "--include-cold-install", "--runs", "1")
	r.want(t, exitFinding)
	record := decoded(t, r.stdout)
	if detail := at(t, record, "/cold_install/detail"); at(t, record, "/cold_install/status") != "ERROR" || !strings.HasPrefix(detail, "measure.network_unreachable: ") {
		t.Errorf("cold_install: %s", detail)
	}
	if !strings.Contains(r.stderr, `{"finding":{"message":"cold_install: measure.network_unreachable: `) {
		t.Errorf("standard error: %s", r.stderr)
	}
	h.s.emptyTmp(t)
}
