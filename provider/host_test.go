package provider

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-measure/provider-measure/probe"
)

// hangingPython is an interpreter that never answers.
func hangingPython(t *testing.T) string {
	t.Helper()
	return script(t, filepath.Join(tempDir(t), "python3"), "#!/bin/sh\nexec sleep 600\n")
}

func TestPythonSearchIsCancelled(t *testing.T) {
	h := NewHost(nil, HostOptions{Python: hangingPython(t), TempDir: t.TempDir()})
	start := time.Now()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	if _, err := h.Python(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	deadline, done := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer done()
	id, err := h.Identify(deadline, distManifest(t, ""))
	if !errors.Is(err, context.DeadlineExceeded) || !id.Runtime.IsZero() {
		t.Errorf("got %+v, %v", id, err)
	}
	if took := time.Since(start); took > 15*time.Second {
		t.Errorf("took %v", took)
	}
	if _, err := h.Python(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that had ended: %v", err)
	}
}

// One caller that gives up takes the search from nobody.
func TestPythonSearchIsShared(t *testing.T) {
	dir := tempDir(t)
	exe := script(t, filepath.Join(dir, "python3"), "\x7fELF")
	started, release := make(chan struct{}), make(chan struct{})
	runs := 0
	h := NewHost(nil, HostOptions{Python: exe, Run: func(ctx context.Context, spec probe.Spec) (*probe.Result, error) {
		runs++
		close(started)
		<-release
		return answerRun(answer(t, pythonAnswer{Executable: exe, Version: "3.11.2", Prefix: dir}))(ctx, spec)
	}})
	impatient, cancel := context.WithCancel(t.Context())
	errs := make(chan error, 2)
	go func() { _, err := h.Python(impatient); errs <- err }()
	<-started
	found := make(chan *Python, 1)
	go func() {
		p, err := h.Python(t.Context())
		errs <- err
		found <- p
	}()
	for { // until the second has joined
		h.mu.Lock()
		waiting := h.search.waiting
		h.mu.Unlock()
		if waiting == 2 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-errs; !errors.Is(err, context.Canceled) {
		t.Errorf("the impatient: %v", err)
	}
	close(release)
	if err := <-errs; err != nil {
		t.Errorf("the patient: %v", err)
	}
	p := <-found
	p.Version, p.Site = "9", append(p.Site, "/x")
	again, err := h.Python(t.Context())
	if err != nil || again.Version != "3.11.2" || runs != 1 {
		t.Errorf("kept %+v, %v, after %d runs", again, err, runs)
	}
}

// A kept failure belongs to nobody: each caller gets its own.
func TestPythonFailureIsKept(t *testing.T) {
	h := NewHost(nil, HostOptions{})
	m := distManifest(t, "")
	rt := sampleRuntime(t, "PYTHON_DISTRIBUTION_RECORD")
	want{code: CodeUnavailable, reason: ReasonPythonMissing, says: []string{rt.Provider()}}.check(t, h.Revalidate(t.Context(), rt))
	id := identify(t, h, m)
	want{code: CodeUnavailable, reason: ReasonPythonMissing, says: []string{m.ID}}.check(t, id.Failure)
	_, err := h.Python(t.Context())
	if AsError(err, CodeUnavailable).Provider != "" {
		t.Errorf("the kept failure was given a name: %v", err)
	}
}

func sampleRuntime(t testing.TB, kind string) Runtime {
	t.Helper()
	rt, err := ParseRuntime(encode(t, sample(kind)))
	if err != nil {
		t.Fatal(err)
	}
	return rt
}

func TestCancelledChecks(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	h, all, top, _, _ := compositeHost(t, "")
	rt := identifyAvailable(t, h, top).Runtime
	m, ok := h.Set().Provider("tests.tool")
	if !ok {
		t.Fatal("no tests.tool")
	}
	for _, m := range []*Manifest{all, top, m, manifest(t, tree(t), treeText()), manifest(t, tempDir(t), entrypointText())} {
		if id, err := h.Identify(ctx, m); !errors.Is(err, context.Canceled) || !id.Runtime.IsZero() {
			t.Errorf("%s: %+v, %v", m.ID, id.Failure, err)
		}
	}
	if err := h.Revalidate(ctx, rt); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := h.Ready(ctx, top, rt, Measured{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := h.RunProbe(ctx, m, Measured{}, m.Probes.Health, CodeUnavailable); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A probe that is running ends with its context.
func TestCancelledWhileRunning(t *testing.T) {
	tool := script(t, filepath.Join(tempDir(t), "tool"), "#!/bin/sh\nexec sleep 600\n")
	m := toolManifest(t, tool, "")
	h := NewHost(nil, HostOptions{TempDir: t.TempDir()})
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	start := time.Now()
	if _, err := h.Identify(ctx, m); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if took := time.Since(start); took > 15*time.Second {
		t.Errorf("took %v", took)
	}
}

func TestUnavailableRecords(t *testing.T) {
	h := NewHost(nil, HostOptions{})
	rt, err := ParseRuntime(encode(t, unavailableSample()))
	if err != nil {
		t.Fatal(err)
	}
	want{CodeIdentityIncomplete, ReasonRecordUnavailable, []string{"gone", "tests.sample"}, "", ""}.check(t, h.Revalidate(t.Context(), rt))
	want{CodeUnavailable, ReasonRecordUnavailable, []string{"gone"}, "", ""}.check(t, h.Ready(t.Context(), nil, rt, Measured{}))
	var zero Runtime
	want{code: CodeIdentityIncomplete, reason: ReasonRecordUnavailable}.check(t, h.Revalidate(t.Context(), zero))
	want{code: CodeUnavailable, reason: ReasonRecordUnavailable}.check(t, h.Ready(t.Context(), nil, zero, Measured{}))
}

// One Host serves many at once, and all see the same.
func TestHostIsConcurrent(t *testing.T) {
	h, all, top, _, _ := compositeHost(t, "")
	want := identifyAvailable(t, h, top).Runtime.Record()
	rt := identifyAvailable(t, h, all).Runtime
	var wg sync.WaitGroup
	errs := make(chan error, 64)
	for range 4 {
		wg.Go(func() {
			id, err := h.Identify(t.Context(), top)
			if diff := cmp.Diff(want, id.Runtime.Record()); diff != "" {
				err = errors.Join(err, fmt.Errorf("differs: %s", diff))
			}
			errs <- err
		})
		wg.Go(func() { errs <- h.Revalidate(t.Context(), rt) })
		wg.Go(func() { errs <- h.Ready(t.Context(), nil, rt, Measured{}) })
		wg.Go(func() { _, err := h.Python(t.Context()); errs <- err })
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
}

func TestErrorForms(t *testing.T) {
	cause := errors.New("cause")
	for _, tt := range []struct {
		err  Error
		want string
	}{
		{Error{Code: CodeUnavailable, Provider: "p", Message: "m", Err: cause}, "p: m"},
		{Error{Code: CodeUnavailable, Err: cause}, "cause"},
		{Error{Code: CodeUnavailable}, "UNAVAILABLE"},
	} {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
	e := &Error{Code: CodeUnavailable, Reason: ReasonEditable, Err: cause}
	if !errors.Is(e, cause) || !errors.Is(e, ReasonEditable) || !errors.Is(e, CodeUnavailable) || e.ReasonText() != "provider.editable" || (&Error{}).ReasonText() != "" {
		t.Error("what an error unwraps to")
	}
	if AsError(nil, CodeUnavailable) != nil || AsError(cause, CodeReadinessFailed).Code != CodeReadinessFailed {
		t.Error("AsError")
	}
	own := AsError(fmt.Errorf("wrapped: %w", e), CodeReadinessFailed)
	own.Provider = "mine"
	if own.Code != CodeUnavailable || e.Provider != "" {
		t.Error("AsError shares what it returns")
	}
	if UnknownOrigin.String() != "unknown" || Operator.String() != "operator" {
		t.Error("origins")
	}
}

func TestHostPlatform(t *testing.T) {
	h := NewHost(nil, HostOptions{})
	if !matches(platformPattern, h.Platform()) {
		t.Errorf("platform %q is none that a pin may name", h.Platform())
	}
	if len(h.Set().Manifests()) != 0 {
		t.Error("a set out of nothing")
	}
	if !KnownMeasurement("cold-start-ms") || KnownMeasurement("x") {
		t.Error("measurements")
	}
}
