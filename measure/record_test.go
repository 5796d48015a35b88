package measure

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	godigest "github.com/opencontainers/go-digest"

	"github.com/provider-measure/provider-measure/digest"
	"github.com/provider-measure/provider-measure/internal/strictjson"
	"github.com/provider-measure/provider-measure/judge"
	"github.com/provider-measure/provider-measure/probe"
	"github.com/provider-measure/provider-measure/provider"
)

func sampleOf(seconds float64, peak, output int64) Sample {
	return Sample{
		Status: Completed, Outcome: probe.Exited, ExitCode: ptr(0), Seconds: &seconds, User: ptr(seconds / 2), System: ptr(0.0),
		PeakRSS:   Memory{Bytes: &peak, Method: ptr("VmHWM"), Scope: ptr("process")},
		TreeRSS:   TreeMemory{Bytes: &peak, Method: ptr("sum of Pss"), Scope: ptr("tree"), PeriodSeconds: ptr(0.01)},
		Processes: ptr(int64(1)), OutputBytes: &output,
	}
}

// sampleRecord is a valid record made without measuring.
func sampleRecord(t testing.TB) *Record {
	t.Helper()
	d, kind := godigest.FromString("tool"), digest.ExecutableKind
	rt, err := provider.NewRuntime(provider.Record{
		RuntimeVersion: provider.RuntimeVersion, Provider: "tests.tool", Availability: provider.Available, Version: ptr("1.2.3"),
		Digest: &d, DigestKind: &kind, Platform: "linux-x86_64", InstallTier: provider.T2, LicenseID: "MIT",
		Configuration: jsontext.Value(`{"executable":"/opt/tool"}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	r := &Record{
		MeasurementVersion: Version, ProviderRuntime: rt, ProbeContract: godigest.FromString("contract"),
		Environment: Environment{
			Kernel: ptr("linux 6.1"), Machine: ptr("x86_64"), CPUModel: ptr("some"), CPUCount: ptr(int64(2)), MemoryBytes: ptr(int64(1 << 30)),
			Load:    &[3]float64{0.5, 0.25, 0},
			Unknown: Reasons{"governor": "the kernel tells none", "virtualisation": "nothing tells", "interpreter": "there is none"},
		},
		InstalledSize: InstalledSize{Status: Completed, Bytes: ptr(int64(42)), Files: ptr(int64(2)), SharedLibraries: &SharedLibraries{
			Bytes: ptr(int64(7)), Files: ptr(int64(1)), Missing: []string{}, Interpreter: ptr("/lib/ld.so"),
		}},
		ColdStart:        summarise([]Sample{sampleOf(0.3, 1000, 7), sampleOf(0.1, 3000, 9), sampleOf(0.2, 2000, 8)}),
		ReproductionCase: summarise([]Sample{sampleOf(1.5, 1000, 7)}),
		ColdInstall:      ColdInstall{Status: Skipped, Detail: detail(CodeNotAskedFor, "not asked for")},
	}
	r.Requirements = judged([]provider.Requirement{
		{Name: "fast", Says: "starts fast", Check: "cold-start-ms <= 200"},
		{Name: "small", Says: "is small", Check: "installed-bytes < 42"},
		{Name: "installs", Says: "installs fast", Check: "cold-install-ms < 1"},
	}, r)
	return r
}

func TestMedians(t *testing.T) {
	for _, tt := range []struct {
		in   []int64
		want int64
	}{{[]int64{5}, 5}, {[]int64{9, 1, 5}, 5}, {[]int64{4, 1, 2, 9}, 3}, {[]int64{1, 2}, 1}, {[]int64{math.MaxInt64, math.MaxInt64 - 2}, math.MaxInt64 - 1}} {
		in := append([]int64(nil), tt.in...)
		if got := median(in); got != tt.want {
			t.Errorf("median(%v) = %d, want %d", tt.in, got, tt.want)
		}
		if !cmp.Equal(in, tt.in) {
			t.Errorf("median changed its argument to %v", in)
		}
	}
}

func TestMillisecondsRoundUp(t *testing.T) {
	for s, want := range map[float64]uint64{0: 0, 0.000001: 1, 0.001: 1, 0.0010001: 1, 1.1: 1100, 1.100001: 1101, 2: 2000} {
		if got := milliseconds(s); got != want {
			t.Errorf("milliseconds(%v) = %d, want %d", s, got, want)
		}
	}
}

func TestSummarise(t *testing.T) {
	r := sampleRecord(t)
	s := r.ColdStart
	if *s.Seconds != 0.2 || *s.PeakRSS.Bytes != 2000 || *s.OutputBytes != 8 || *s.User != 0.1 || *s.System != 0 || s.Detail != nil {
		t.Errorf("medians of three: %+v", s)
	}
	failed := sampleOf(9, 9000, 9)
	failed.Status, failed.Detail = Failed, ptr("provider.probe_unexpected: wrong")
	s = summarise([]Sample{sampleOf(0.1, 1000, 1), failed, sampleOf(0.3, 3000, 3)})
	fails(t, s.Status, s.Detail, Failed, provider.ReasonProbeUnexpected, "1 of 3 samples failed", "first sample 2")
	if len(s.Samples) != 3 || *s.Seconds != 0.2 || *s.PeakRSS.Bytes != 2000 {
		t.Errorf("a failed sample must stay, and must not be part of the median: %+v", s)
	}
	odd := sampleOf(0.1, 1000, 1)
	odd.PeakRSS, odd.User, odd.System, odd.Detail = Memory{Scope: ptr("process")}, nil, nil, ptr("peak_rss_bytes: too short")
	s = summarise([]Sample{odd, sampleOf(0.3, 3000, 3)})
	if s.Status != Completed || s.Detail == nil || !strings.Contains(*s.Detail, "peak_rss_bytes: obtained in 1 of 2 samples") || *s.PeakRSS.Bytes != 3000 {
		t.Errorf("a number that one sample lacks: %+v %s", s, show(s.Detail))
	}
	other := sampleOf(0.1, 1000, 1)
	other.PeakRSS.Method = ptr("ru_maxrss")
	s = summarise([]Sample{other, sampleOf(0.3, 3000, 3)})
	if *s.PeakRSS.Method != "VmHWM; ru_maxrss" {
		t.Errorf("method %q must name both", *s.PeakRSS.Method)
	}
	if s := summarise(nil); s.Status != Failed || s.Detail == nil || s.Samples == nil {
		t.Errorf("no samples: %+v", s)
	}
}

func TestNewSample(t *testing.T) {
	number := func(n int64) probe.Figure {
		return probe.Figure{Bytes: &n, Method: "m", Scope: "process", Period: 1e7}
	}
	absent := probe.Figure{Reason: "too short", Scope: "process"}
	wrong := &provider.Error{Code: provider.CodeUnavailable, Reason: provider.ReasonProbeFailed, Message: "ended by SIGKILL"}
	for _, tt := range []struct {
		name    string
		in      probe.Result
		failure error
		status  Status
		says    []string
		numbers bool
	}{
		{"good", probe.Result{Outcome: probe.Exited, ExitCode: ptr(0), Wall: 1e6, Counted: true, Processes: 2, Memory: probe.Memory{Process: number(5), Tree: number(6)}}, nil, Completed, nil, true},
		{"no peak", probe.Result{Outcome: probe.Exited, ExitCode: ptr(0), Wall: 1e6, Counted: true, Processes: 2, Memory: probe.Memory{Process: absent, Tree: absent}}, nil, Completed, []string{"peak_rss_bytes: too short", "tree_rss_bytes: too short"}, true},
		{"zero peak", probe.Result{Outcome: probe.Exited, ExitCode: ptr(0), Wall: 1e6, Counted: true, Processes: 2, Memory: probe.Memory{Process: number(0), Tree: number(6)}}, nil, Completed, []string{"peak_rss_bytes: could not be obtained"}, true},
		{"not counted", probe.Result{Outcome: probe.Exited, ExitCode: ptr(0), Wall: 1e6, Processes: 2, Memory: probe.Memory{Process: number(5), Tree: number(6)}}, nil, Completed, []string{"processes: at least 2"}, true},
		{"no cpu", probe.Result{Outcome: probe.Exited, ExitCode: ptr(0), Wall: 1e6, Counted: true, Processes: 1, CPU: probe.CPUFigure{Reason: "gone"}, Memory: probe.Memory{Process: number(5), Tree: number(6)}}, nil, Completed, []string{"user and system: gone"}, true},
		{"killed", probe.Result{Outcome: probe.Signaled, Wall: 1e6, Counted: true, Processes: 1, Memory: probe.Memory{Process: number(5), Tree: number(6)}}, wrong, Failed, []string{"provider.probe_failed: ended by SIGKILL"}, true},
		{"not started", probe.Result{Outcome: probe.StartFailed, Memory: probe.Memory{Process: absent, Tree: absent}}, wrong, Failed, []string{"nothing ran"}, false},
		{"no reason", probe.Result{Outcome: probe.Signaled, Wall: 1e6, Counted: true, Processes: 1, Memory: probe.Memory{Process: number(5), Tree: number(6)}}, errors.New("odd"), Failed, []string{"measure.sample_failed: odd"}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSample(&tt.in, tt.failure)
			if s.Status != tt.status || (s.Seconds != nil) != tt.numbers || (s.OutputBytes != nil) != tt.numbers {
				t.Errorf("sample %+v", s)
			}
			if tt.says == nil && s.Detail != nil {
				t.Errorf("detail %q", *s.Detail)
			}
			for _, part := range tt.says {
				if s.Detail == nil || !strings.Contains(*s.Detail, part) {
					t.Errorf("detail %s lacks %q", show(s.Detail), part)
				}
			}
			c := &checker{}
			c.sample("/s", &s)
			if c.err != nil {
				t.Errorf("a sample that is made must be valid: %v", c.err)
			}
		})
	}
}

func TestRequirements(t *testing.T) {
	r := sampleRecord(t)
	want := []Requirement{
		{Name: "fast", Says: "starts fast", Check: "cold-start-ms <= 200", Verdict: judge.Met, Reported: ptr(uint64(200))},
		{Name: "small", Says: "is small", Check: "installed-bytes < 42", Verdict: judge.Unmet, Reported: ptr(uint64(42))},
		{
			Name: "installs", Says: "installs fast", Check: "cold-install-ms < 1", Verdict: judge.Undecided,
			Reason: ptr(`measurement "cold-install-ms" was not reported: cold_install is SKIPPED`),
		},
	}
	if diff := cmp.Diff(want, r.Requirements); diff != "" {
		t.Error(diff)
	}
	if r.Good() {
		t.Error("an unmet requirement is not good")
	}
	// A median over the samples that happened to work decides nothing.
	r.ColdStart.Status = Failed
	if q := r.judge("fast", "s", "cold-start-ms <= 200"); q.Verdict != judge.Undecided {
		t.Errorf("a failed series decides: %+v", q)
	}
	r = sampleRecord(t)
	r.ColdInstall = ColdInstall{Status: Completed, Seconds: ptr(1.0), InstalledBytes: ptr(int64(3)), Installer: ptr("uv 1")}
	for _, name := range provider.Measurements() {
		if q := r.judge("x", "s", name+" >= 0"); q.Verdict != judge.Met {
			t.Errorf("a full record does not report %s: %+v", name, q)
		}
		if part := r.part(name); strings.Contains(part, "no such number") {
			t.Errorf("%s belongs to no part", name)
		}
	}
}

func TestValidate(t *testing.T) {
	for _, tt := range []struct {
		name    string
		pointer string
		change  func(*Record)
	}{
		{"version", "/measurement_version", func(r *Record) { r.MeasurementVersion = "1" }},
		{"no runtime", "/provider_runtime", func(r *Record) { r.ProviderRuntime = provider.Runtime{} }},
		{"contract", "/probe_contract", func(r *Record) { r.ProbeContract = "sha256:00" }},
		{"fact twice", "/environment/machine", func(r *Record) { r.Environment.Unknown["machine"] = "why" }},
		{"fact missing", "/environment/kernel", func(r *Record) { r.Environment.Kernel = nil }},
		{"strange fact", "/environment/unknown", func(r *Record) { r.Environment.Unknown["moon"] = "new" }},
		{"empty reason", "/environment/unknown/governor", func(r *Record) { r.Environment.Unknown["governor"] = "" }},
		{"no processors", "/environment/cpu_count", func(r *Record) { r.Environment.CPUCount = ptr(int64(0)) }},
		{"negative load", "/environment/load", func(r *Record) { r.Environment.Load[1] = -1 }},
		{"nan load", "/environment/load", func(r *Record) { r.Environment.Load[1] = math.NaN() }},
		{"size without bytes", "/installed_size", func(r *Record) { r.InstalledSize.Bytes = nil }},
		{"error with bytes", "/installed_size", func(r *Record) { r.InstalledSize.Status, r.InstalledSize.Detail = Failed, ptr("x") }},
		{"error without detail", "/installed_size", func(r *Record) {
			r.InstalledSize.Status, r.InstalledSize.Bytes, r.InstalledSize.Files = Failed, nil, nil
		}},
		{"no status", "/installed_size/status", func(r *Record) { r.InstalledSize.Status = "" }},
		{"no files", "/installed_size/files", func(r *Record) { r.InstalledSize.Files = ptr(int64(0)) }},
		{"empty detail", "/installed_size/detail", func(r *Record) { r.InstalledSize.Detail = ptr("") }},
		{"long detail", "/cold_install/detail", func(r *Record) { r.ColdInstall.Detail = ptr(strings.Repeat("ä", 513)) }},
		{"half libraries", "/installed_size/shared_libraries", func(r *Record) { r.InstalledSize.SharedLibraries.Files = nil }},
		{"null list", "/installed_size/shared_libraries/missing", func(r *Record) { r.InstalledSize.SharedLibraries.Missing = nil }},
		{"wrong median", "/cold_start", func(r *Record) { r.ColdStart.Seconds = ptr(0.25) }},
		{"wrong peak", "/cold_start", func(r *Record) { r.ColdStart.PeakRSS.Bytes = ptr(int64(1)) }},
		{"lost sample", "/cold_start", func(r *Record) { r.ColdStart.Samples = r.ColdStart.Samples[:1] }},
		{"failed sample in a good series", "/cold_start", func(r *Record) {
			r.ColdStart.Samples[0].Status, r.ColdStart.Samples[0].Detail = Failed, ptr("x")
		}},
		{"detail of a good series", "/cold_start/detail", func(r *Record) { r.ColdStart.Detail = ptr("fine") }},
		{"skipped with samples", "/cold_start/samples", func(r *Record) { r.ColdStart.Status, r.ColdStart.Detail = Skipped, ptr("x") }},
		{"null samples", "/cold_start/samples", func(r *Record) { r.ColdStart = Series{Status: Skipped, Detail: ptr("x")} }},
		{"unknown outcome", "/cold_start/samples/0/outcome", func(r *Record) { r.ColdStart.Samples[0].Outcome = probe.Unknown }},
		{"no exit code", "/cold_start/samples/0/exit_code", func(r *Record) { r.ColdStart.Samples[0].ExitCode = nil }},
		{"number gone without reason", "/cold_start/samples/1", func(r *Record) { r.ColdStart.Samples[1].Processes = nil }},
		{"peak of nothing", "/cold_start/samples/0/peak_rss_bytes/bytes", func(r *Record) { r.ColdStart.Samples[0].PeakRSS.Bytes = ptr(int64(0)) }},
		{"peak without method", "/cold_start/samples/0/peak_rss_bytes", func(r *Record) { r.ColdStart.Samples[0].PeakRSS.Method = nil }},
		{"too fine", "/cold_start/samples/0/seconds", func(r *Record) { r.ColdStart.Samples[0].Seconds = ptr(0.30000001) }},
		{"negative time", "/cold_start/samples/0/seconds", func(r *Record) { r.ColdStart.Samples[0].Seconds = ptr(-1.0) }},
		{"infinite time", "/cold_start/samples/0/user", func(r *Record) { r.ColdStart.Samples[0].User = ptr(math.Inf(1)) }},
		{"huge number", "/cold_start/samples/0/output_bytes", func(r *Record) { r.ColdStart.Samples[0].OutputBytes = ptr(int64(1 << 53)) }},
		{"installed without installer", "/cold_install", func(r *Record) {
			r.ColdInstall = ColdInstall{Status: Completed, Seconds: ptr(1.0), InstalledBytes: ptr(int64(3))}
		}},
		{"null requirements", "/requirements", func(r *Record) { r.Requirements = nil }},
		{"improved verdict", "/requirements/1", func(r *Record) { r.Requirements[1].Verdict = judge.Met }},
		{"met by absence", "/requirements/2", func(r *Record) { r.Requirements[2].Verdict, r.Requirements[2].Reason = judge.Met, nil }},
		{"same name", "/requirements/1/name", func(r *Record) { r.Requirements[1].Name = "fast" }},
		{"no check", "/requirements/0/check", func(r *Record) { r.Requirements[0].Check = "fast" }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := sampleRecord(t)
			if err := r.Validate(); err != nil {
				t.Fatal(err)
			}
			tt.change(r)
			err := r.Validate()
			var e *Error
			if !errors.As(err, &e) || !errors.Is(err, CodeRecordInvalid) {
				t.Fatalf("got %v, want %s", err, CodeRecordInvalid)
			}
			if e.Path != tt.pointer {
				t.Errorf("pointer %q, want %q: %v", e.Path, tt.pointer, err)
			}
			if _, err := r.JSON(); err == nil {
				t.Error("an invalid record prints")
			}
		})
	}
}

func TestParseRecordRefuses(t *testing.T) {
	data := string(checkRecord(t, sampleRecord(t)))
	for _, tt := range []struct {
		name, from, to string
		code           error
		path           string
	}{
		{"empty", data, "", CodeRecordMalformed, ""},
		{"not an object", data, "[]", CodeRecordMalformed, ""},
		{"trailing", data, data + "{}", strictjson.CodeTrailingData, ""},
		{"byte-order mark", data, "\ufeff" + data, strictjson.CodeByteOrderMark, ""},
		{"unknown key", `"requirements":`, `"requirement":[],"requirements":`, strictjson.CodeUnknownKey, ""},
		{"repeated key", `"measurement_version":"3"`, `"measurement_version":"3","measurement_version":"3"`, strictjson.CodeDuplicateKey, ""},
		{"case", `"cold_start":`, `"Cold_start":[],"cold_start":`, strictjson.CodeFoldedKey, ""},
		{"missing key", `,"scope":"process"}`, `}`, CodeRecordInvalid, "/cold_start/samples/0/peak_rss_bytes"},
		{"missing null", `"shared_libraries":{"bytes":7,"files":1,"missing":[],"interpreter":"/lib/ld.so","detail":null}`, `"shared_libraries":{"bytes":7,"files":1,"missing":[],"interpreter":"/lib/ld.so"}`, CodeRecordMalformed, "/installed_size/shared_libraries/detail"},
		{"null object", `"unknown":{"governor":"the kernel tells none","interpreter":"there is none","virtualisation":"nothing tells"}`, `"unknown":null`, CodeRecordInvalid, ""},
		{"null series", `"peak_rss_bytes":{"bytes":2000,"method":"VmHWM","scope":"process"}`, `"peak_rss_bytes":null`, CodeRecordInvalid, "/cold_start/samples/2"},
		{"text for a number", `"cpu_count":2`, `"cpu_count":"2"`, strictjson.CodeWrongType, ""},
		{"fraction for a number", `"cpu_count":2`, `"cpu_count":2.5`, strictjson.CodeWrongType, ""},
		{"short load", `[0.5,0.25,0]`, `[0.5,0.25]`, strictjson.CodeWrongType, ""},
		{"bad runtime", `"license_id":"MIT"`, `"license_id":"my own"`, CodeRecordMalformed, ""},
		{"outcome in lower case", `"EXITED"`, `"exited"`, CodeRecordMalformed, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			changed := strings.Replace(data, tt.from, tt.to, 1)
			if changed == data {
				t.Fatalf("the record has no %s:\n%s", tt.from, data)
			}
			r, err := ParseRecord([]byte(changed))
			if r != nil || !errors.Is(err, tt.code) {
				t.Fatalf("got %v, want %v", err, tt.code)
			}
			var e *Error
			if !errors.As(err, &e) || (tt.path != "" && e.Path != tt.path) {
				t.Errorf("path of %v, want %q", err, tt.path)
			}
		})
	}
}

// FuzzParseRecord: whatever is accepted is valid, prints, and reads back the
// same; whatever is refused has a code and gives nothing.
func FuzzParseRecord(f *testing.F) {
	good, err := sampleRecord(f).JSON()
	if err != nil {
		f.Fatal(err)
	}
	if _, err := ParseRecord(good); err != nil {
		f.Fatalf("the seed is refused: %v", err)
	}
	f.Add(good)
	for _, cut := range []string{"{}", "null", `{"measurement_version":"3"}`, strings.Replace(string(good), "0.25", "2.5e-1", 1), strings.Replace(string(good), ":42", ":42.0", 1)} {
		f.Add([]byte(cut))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := ParseRecord(data)
		if err != nil {
			if r != nil || (!errors.Is(err, CodeRecordMalformed) && !errors.Is(err, CodeRecordInvalid)) {
				t.Fatalf("refused with %v and %v", err, r)
			}
			return
		}
		if err := r.Validate(); err != nil {
			t.Fatalf("accepted what is invalid: %v", err)
		}
		printed, err := r.JSON()
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseRecord(printed)
		if err != nil {
			t.Fatalf("%v\n%s", err, printed)
		}
		twice, err := again.JSON()
		if err != nil || string(twice) != string(printed) {
			t.Fatalf("%v\n%s\n%s", err, printed, twice)
		}
		if a, b := flat(t, data), flat(t, printed); !cmp.Equal(a, b) {
			t.Fatal(cmp.Diff(a, b))
		}
	})
}

func flat(t *testing.T, data []byte) map[string]string {
	out := map[string]string{}
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	var walk func(string, any)
	walk = func(at string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, x := range v {
				walk(at+"/"+k, x)
			}
		case []any:
			for i, x := range v {
				walk(fmt.Sprintf("%s/%d", at, i), x)
			}
		default:
			out[at] = fmt.Sprintf("%T %v", v, v)
		}
	}
	walk("", v)
	return out
}
