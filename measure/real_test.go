package measure

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/provider-measure/provider-measure/internal/testenv"
	"github.com/provider-measure/provider-measure/provider"
)

// realHost offers the built-in manifests over what scripts/providers prepared.
func realHost(t testing.TB) *provider.Host {
	t.Helper()
	prepared := filepath.Join(testenv.RepoRoot(t), ".providers")
	if _, err := os.Stat(filepath.Join(prepared, "venv", "bin", "python3")); err != nil {
		testenv.Skip(t, "providers", "scripts/providers has not prepared the real providers: "+err.Error())
	}
	manifests, remove, err := provider.OpenBuiltins(tempDir(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := remove(); err != nil {
			t.Error(err)
		}
	})
	set, err := provider.NewSet(manifests...)
	if err != nil {
		t.Fatal(err)
	}
	return provider.NewHost(set, provider.HostOptions{
		TempDir: tempDir(t), Python: filepath.Join(prepared, "venv"),
		Lookup: func(name string) (string, bool) {
			if name == "PATH" {
				return filepath.Join(prepared, "bin") + ":" + os.Getenv("PATH"), true
			}
			return os.LookupEnv(name)
		},
	})
}

// Every built-in capability is measured where its provider is there; one of them
// has to be.
func TestRealProviders(t *testing.T) {
	h := realHost(t)
	done := 0
	for _, id := range h.Set().CapabilityIDs() {
		t.Run(id, func(t *testing.T) {
			m, _, _ := h.Set().Capability(id)
			found, err := h.Identify(t.Context(), m)
			if err != nil {
				t.Fatal(err)
			}
			if found.Failure != nil {
				testenv.Skip(t, "providers", found.Failure.Error())
			}
			r, err := Measure(t.Context(), h, id, Options{Runs: 1})
			if err != nil {
				t.Fatal(err)
			}
			checkRecord(t, r)
			done++
			for name, s := range map[string]Series{"cold_start": r.ColdStart, "reproduction_case": r.ReproductionCase} {
				if s.Status != Completed || s.PeakRSS.Bytes == nil || *s.PeakRSS.Bytes < 1<<16 || s.PeakRSS.Method == nil {
					t.Errorf("%s: %s, peak %+v, detail %s", name, s.Status, s.PeakRSS, show(s.Detail))
				}
			}
			if r.InstalledSize.Status != Completed || *r.InstalledSize.Bytes < 1000 {
				t.Errorf("installed size %+v", r.InstalledSize)
			}
			t.Logf("%s: %d bytes in %d files, start %.3f s, case %.3f s, peak %d bytes", r.ProviderRuntime.Provider(), *r.InstalledSize.Bytes,
				*r.InstalledSize.Files, *r.ColdStart.Seconds, *r.ReproductionCase.Seconds, *r.ReproductionCase.PeakRSS.Bytes)
		})
	}
	if done == 0 {
		t.Error("not one real provider was measured")
	}
}

// The real index, with whatever installer there is.
func TestRealInstall(t *testing.T) {
	h := realHost(t)
	const id = "graph.compute.properties"
	if !slices.Contains(h.Set().CapabilityIDs(), id) {
		t.Fatal("the built-in manifest is gone")
	}
	m, _, _ := h.Set().Capability(id)
	if found, err := h.Identify(t.Context(), m); err != nil || found.Failure != nil {
		testenv.Skip(t, "providers", "NetworkX is not prepared")
	}
	r, err := Measure(t.Context(), h, id, Options{Runs: 1, ColdInstall: true})
	if err != nil {
		t.Fatal(err)
	}
	checkRecord(t, r)
	in := r.ColdInstall
	if in.Detail != nil && strings.HasPrefix(*in.Detail, string(CodeNetworkUnreachable)+": ") {
		testenv.Skip(t, "network", *in.Detail)
	}
	if in.Status != Completed || *in.InstalledBytes < 1<<20 {
		t.Fatalf("%s, detail %s", in.Status, show(in.Detail))
	}
	t.Logf("%s: %.3f s, %d bytes", *in.Installer, *in.Seconds, *in.InstalledBytes)
}
