package measure

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-measure/provider-measure/judge"
	"github.com/provider-measure/provider-measure/probe"
	"github.com/provider-measure/provider-measure/provider"
)

func TestMeasure(t *testing.T) {
	x := newTool(t)
	var events []Event
	r := measured(t, x.host(t, coldStartProbe+reproductionProbe+`[[requirements]]
name = "quick"
says = "starts within a minute"
check = "cold-start-ms < 60000"
`, nil), Options{Progress: func(e Event) { events = append(events, e) }})
	x.nothingLeft(t)
	if r.ProviderRuntime.Provider() != "tests.tool" || !r.Good() {
		t.Errorf("record %+v", r)
	}
	for name, s := range map[string]Series{"cold_start": r.ColdStart, "reproduction_case": r.ReproductionCase} {
		if s.Status != Completed || len(s.Samples) != DefaultRuns || s.Seconds == nil || s.User == nil || s.PeakRSS.Bytes == nil || *s.PeakRSS.Bytes < 1000 {
			t.Errorf("%s: %+v, detail %s", name, s, show(s.Detail))
		}
	}
	if *r.ReproductionCase.OutputBytes != int64(len("sat p\nsat q\n")) || *r.ColdStart.OutputBytes != 0 {
		t.Errorf("output %d and %d bytes", *r.ReproductionCase.OutputBytes, *r.ColdStart.OutputBytes)
	}
	if *r.InstalledSize.Bytes != int64(len(toolScript)) || *r.InstalledSize.Files != 1 {
		t.Errorf("installed size %d in %d files", *r.InstalledSize.Bytes, *r.InstalledSize.Files)
	}
	libs := r.InstalledSize.SharedLibraries
	if libs == nil || libs.Bytes != nil || libs.Detail == nil {
		t.Errorf("what a script's interpreter loads is not known: %+v", libs)
	}
	if r.Requirements[0].Verdict != judge.Met {
		t.Errorf("requirement %+v", r.Requirements[0])
	}
	fails(t, r.ColdInstall.Status, r.ColdInstall.Detail, Skipped, CodeNotAskedFor, "not asked for")
	checkEvents(t, events)
}

// checkEvents: each stage counts from 0 to its total, in the order of stages.
func checkEvents(t *testing.T, events []Event) {
	t.Helper()
	var stages []string
	for i, e := range events {
		if len(stages) == 0 || stages[len(stages)-1] != e.Stage {
			stages = append(stages, e.Stage)
			if e.Done != 0 {
				t.Errorf("stage begins with %+v", e)
			}
		}
		if last := i+1 == len(events) || events[i+1].Stage != e.Stage; last && e.Done != e.Total {
			t.Errorf("stage ends with %+v", e)
		}
		if e.Total < 1 || e.Done > e.Total {
			t.Errorf("%+v", e)
		}
	}
	want := []string{StageIdentify, StageReady, StageInstalledSize, StageColdStart, StageReproduction, StageRevalidate}
	if !slices.Equal(stages, want) {
		t.Errorf("stages %q, want %q", stages, want)
	}
}

func TestSkippedProbes(t *testing.T) {
	r := measured(t, newTool(t).host(t, "", nil), Options{})
	fails(t, r.ColdStart.Status, r.ColdStart.Detail, Skipped, CodeNotDeclared, "probes.cold_start")
	fails(t, r.ReproductionCase.Status, r.ReproductionCase.Detail, Skipped, CodeNotDeclared, "probes.reproduction")
	if !r.Good() {
		t.Error("SKIPPED is not wrong")
	}
}

func TestUnknownCapability(t *testing.T) {
	h := newTool(t).host(t, "", nil)
	for id, want := range map[string]string{"sat.slove": "sat.solve", "SAT.solve": "sat.solve", "graph.compute.properties": "", "": ""} {
		r, err := Measure(t.Context(), h, id, Options{})
		var e *Error
		if r != nil || !errors.As(err, &e) || !errors.Is(err, CodeUnknownCapability) || e.Nearest != want || e.Path != id {
			t.Errorf("%q: got %v, want %s that suggests %q", id, err, CodeUnknownCapability, want)
		}
	}
}

func TestBadRuns(t *testing.T) {
	h := newTool(t).host(t, "", nil)
	for _, runs := range []int{-1, MaxRuns + 1} {
		if _, err := Measure(t.Context(), h, "sat.solve", Options{Runs: runs}); !errors.Is(err, CodeBadOptions) {
			t.Errorf("%d runs: %v", runs, err)
		}
	}
}

func TestUnavailable(t *testing.T) {
	x := newTool(t)
	ran := false
	h := x.host(t, coldStartProbe, func(ctx context.Context, spec probe.Spec) (*probe.Result, error) {
		ran = ran || slices.Contains(spec.Args, "start")
		return probe.Run(ctx, spec)
	})
	if err := os.Remove(x.exe); err != nil {
		t.Fatal(err)
	}
	r, err := Measure(t.Context(), h, "sat.solve", Options{})
	if pe := providerCode(t, err, provider.CodeUnavailable); r != nil || ran || pe.Provider != "tests.tool" {
		t.Errorf("record %v, ran %v, error %#v", r, ran, pe)
	}
}

func TestNotReady(t *testing.T) {
	x := newTool(t)
	ran := false
	h := x.host(t, "[probes.readiness]\nargv = [\"${executable}\", \"fail\"]\n"+coldStartProbe, func(ctx context.Context, spec probe.Spec) (*probe.Result, error) {
		ran = ran || slices.Contains(spec.Args, "start")
		return probe.Run(ctx, spec)
	})
	r, err := Measure(t.Context(), h, "sat.solve", Options{})
	if providerCode(t, err, provider.CodeReadinessFailed); r != nil || ran {
		t.Errorf("record %v, ran %v", r, ran)
	}
}

// Each way in which the executable can move while it is measured.
func TestIdentityMoved(t *testing.T) {
	for _, tt := range []struct {
		name string
		arg  string
		n    int32
		move func(t *testing.T, x *tool)
		code provider.Code
	}{
		{"changed after the last run", "solve", 3, func(t *testing.T, x *tool) { write(t, x.exe, toolScript+"# more\n", 0o755) }, provider.CodeIdentityChanged},
		{"changed between runs", "start", 1, func(t *testing.T, x *tool) { write(t, x.exe, toolScript+"# more\n", 0o755) }, provider.CodeIdentityChanged},
		{"replaced by another file", "start", 2, func(t *testing.T, x *tool) {
			other := write(t, x.exe+".new", toolScript+"# other\n", 0o755)
			if err := os.Rename(other, x.exe); err != nil {
				t.Fatal(err)
			}
		}, provider.CodeIdentityChanged},
		{"removed at the end", "solve", 3, func(t *testing.T, x *tool) {
			if err := os.Remove(x.exe); err != nil {
				t.Fatal(err)
			}
		}, provider.CodeUnavailable},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x := newTool(t)
			h := x.host(t, coldStartProbe+reproductionProbe, afterRun(tt.arg, tt.n, func() { tt.move(t, x) }))
			r, err := Measure(t.Context(), h, "sat.solve", Options{})
			if r != nil {
				t.Errorf("record %+v", r)
			}
			providerCode(t, err, tt.code)
			x.nothingLeft(t)
		})
	}
}

// Another image stood there for one run only, and the right one is back: what was
// measured is still not what was to run.
func TestIdentityMovedForAWhile(t *testing.T) {
	x := newTool(t)
	r, err := Measure(t.Context(), x.host(t, reproductionProbe, fakeRun("solve", &probe.Result{Outcome: probe.IdentityChanged})), "sat.solve", Options{})
	if providerCode(t, err, provider.CodeIdentityChanged); r != nil {
		t.Errorf("record %+v", r)
	}
}

// Same bytes under another inode are what was measured.
func TestIdentityTouched(t *testing.T) {
	x := newTool(t)
	h := x.host(t, reproductionProbe, afterRun("solve", 3, func() {
		later := time.Now().Add(time.Hour)
		if err := os.Chtimes(x.exe, later, later); err != nil {
			t.Error(err)
		}
	}))
	measured(t, h, Options{})
}

func TestFailures(t *testing.T) {
	for _, tt := range []struct {
		name    string
		probe   string
		outcome probe.Outcome
		reason  error
		says    []string
	}{
		{
			"wrong answer", strings.Replace(reproductionProbe, "sat q", "unsat q", 1), probe.Exited, provider.ReasonProbeUnexpected,
			[]string{"stdout differs", "3 of 3 samples failed"},
		},
		{"exit code", strings.Replace(reproductionProbe, `"solve"`, `"fail"`, 1), probe.Exited, provider.ReasonProbeUnexpected, []string{"exit code is 3", "no licence"}},
		{"time-out", strings.Replace(reproductionProbe, `"solve"]`, `"hang"]`+"\ntimeout_secs = 1", 1), probe.TimedOut, provider.ReasonProbeFailed, []string{"TIMED_OUT"}},
		{"signal", strings.Replace(reproductionProbe, `"solve"`, `"die"`, 1), probe.Signaled, provider.ReasonProbeFailed, []string{"SIGKILL"}},
		{
			"not there", strings.Replace(reproductionProbe, "${executable}", "/nowhere/tool", 1), probe.StartFailed, probe.CodeStartMissing,
			[]string{"could not be started", "nothing ran"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x := newTool(t)
			r := measured(t, x.host(t, coldStartProbe+tt.probe, nil), Options{})
			s := r.ReproductionCase
			fails(t, s.Status, s.Detail, Failed, tt.reason, tt.says...)
			if len(s.Samples) != 3 || s.Seconds != nil || r.Good() {
				t.Errorf("%d samples, median %v, good %v", len(s.Samples), s.Seconds, r.Good())
			}
			for _, sample := range s.Samples {
				if sample.Outcome != tt.outcome || sample.Status != Failed || (sample.Seconds == nil) != (tt.outcome == probe.StartFailed) {
					t.Errorf("sample %+v", sample)
				}
			}
			if r.ColdStart.Status != Completed {
				t.Errorf("the other series is %s", r.ColdStart.Status)
			}
			x.nothingLeft(t)
		})
	}
}

// One bad sample among good ones makes the series ERROR, and all stay in order.
func TestFailingSampleKept(t *testing.T) {
	n := int64(1 << 20)
	good := &probe.Result{
		Outcome: probe.Exited, ExitCode: ptr(0), Stdout: []byte("sat p\nsat q\n"), Wall: 5 * time.Millisecond, Counted: true, Processes: 1,
		Memory: probe.Memory{Process: probe.Figure{Bytes: &n, Method: "m", Scope: "process"}, Tree: probe.Figure{Bytes: &n, Method: "m", Scope: "tree"}},
	}
	wrong := *good
	wrong.Stdout = []byte("unsat\n")
	x := newTool(t)
	r := measured(t, x.host(t, reproductionProbe, fakeRun("solve", good, &wrong, good, good)), Options{Runs: 4})
	s := r.ReproductionCase
	fails(t, s.Status, s.Detail, Failed, provider.ReasonProbeUnexpected, "1 of 4 samples failed, first sample 2")
	var got []Status
	for _, sample := range s.Samples {
		got = append(got, sample.Status)
	}
	if diff := cmp.Diff([]Status{Completed, Failed, Completed, Completed}, got); diff != "" {
		t.Error(diff)
	}
	if *s.Seconds != 0.005 {
		t.Errorf("median %v is not that of the completed samples", *s.Seconds)
	}
}

// A run that can't be set up ends its series; the samples before it stay.
func TestSetupFails(t *testing.T) {
	x := newTool(t)
	count := 0
	h := x.host(t, reproductionProbe, func(ctx context.Context, spec probe.Spec) (*probe.Result, error) {
		if slices.Contains(spec.Args, "solve") {
			if count++; count == 2 {
				return nil, &probe.Error{Code: probe.CodeNotEnforceable, Op: "enforce", Path: "memory"}
			}
		}
		return probe.Run(ctx, spec)
	})
	r := measured(t, h, Options{})
	fails(t, r.ReproductionCase.Status, r.ReproductionCase.Detail, Failed, probe.CodeNotEnforceable)
	if n := len(r.ReproductionCase.Samples); n != 1 || count != 2 {
		t.Errorf("%d samples after %d runs", n, count)
	}
}

func TestCancelled(t *testing.T) {
	x := newTool(t)
	h := x.host(t, strings.Replace(reproductionProbe, `"solve"`, `"hang"`, 1), nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	start := time.Now()
	var last Event
	r, err := Measure(ctx, h, "sat.solve", Options{Progress: func(e Event) {
		last = e
		if e.Stage == StageReproduction {
			time.AfterFunc(300*time.Millisecond, cancel)
		}
	}})
	if r != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("record %v, error %v", r, err)
	}
	if time.Since(start) > 15*time.Second {
		t.Errorf("took %v", time.Since(start))
	}
	if last.Stage != StageReproduction || last.Done != 0 {
		t.Errorf("went on to %+v", last)
	}
	x.nothingLeft(t)
}

func TestPythonFilesMoved(t *testing.T) {
	for _, tt := range []struct {
		name string
		move func(t *testing.T, site string)
		code provider.Code
	}{
		{"a recorded file edited", func(t *testing.T, site string) {
			write(t, filepath.Join(site, "demo_pkg", "__init__.py"), "x = 2\n", 0o644)
		}, provider.CodeIdentityChanged},
		{"RECORD edited", func(t *testing.T, site string) {
			path := filepath.Join(site, "demo_pkg-1.0.dist-info", "RECORD")
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			write(t, path, string(data)+"demo_pkg/__init__.py,sha256=Crrh4K5yghbuRJk8Wjp1X4scOH2Uf8TE9yyrDkqEIUs,6\n", 0o644)
		}, provider.CodeIdentityChanged},
		{"a recorded file removed", func(t *testing.T, site string) {
			if err := os.Remove(filepath.Join(site, "demo_pkg", "__init__.py")); err != nil {
				t.Fatal(err)
			}
		}, provider.CodeUnavailable},
		{"bytecode written", func(t *testing.T, site string) {
			write(t, filepath.Join(site, "demo_pkg", "__pycache__", "__init__.cpython-311.pyc"), "x", 0o644)
		}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x, site := newDemo(t)
			h := provider.NewHost(x.set(t), provider.HostOptions{
				Lookup: x.lookup, Python: x.env["VENV"], TempDir: x.scratch, Run: afterRun("reproduce", 1, func() { tt.move(t, site) }),
			})
			r, err := Measure(t.Context(), h, "sat.solve", Options{Runs: 1})
			if tt.code == "" {
				if err != nil || r == nil {
					t.Fatalf("no record: %v", err)
				}
				return
			}
			if providerCode(t, err, tt.code); r != nil {
				t.Errorf("record %+v", r)
			}
		})
	}
}
