package measure

import (
	"context"
	"runtime"
	"strings"
	"testing"
)

func noInterpreter(context.Context) (*Interpreter, string) { return nil, "none here" }

func TestEnvironment(t *testing.T) {
	e := hostEnvironment(t.Context(), noInterpreter)
	c := &checker{}
	if c.environment(&e); c.err != nil {
		t.Error(c.err)
	}
	if runtime.GOOS != "linux" {
		return
	}
	if e.Kernel == nil || !strings.HasPrefix(*e.Kernel, "linux ") || e.Machine == nil || e.CPUCount == nil || *e.CPUCount < int64(runtime.NumCPU()) ||
		e.MemoryBytes == nil || *e.MemoryBytes < 1<<20 || e.Load == nil {
		t.Errorf("environment %+v", e)
	}
}

// gopsutil would read wherever these variables point.
func TestEnvironmentCannotBeMoved(t *testing.T) {
	want := hostEnvironment(t.Context(), noInterpreter)
	for _, name := range []string{"HOST_PROC", "HOST_SYS", "HOST_ETC", "HOST_VAR", "HOST_RUN", "HOST_DEV", "HOST_ROOT"} {
		t.Setenv(name, t.TempDir())
	}
	got := hostEnvironment(t.Context(), noInterpreter)
	if (got.MemoryBytes == nil) != (want.MemoryBytes == nil) || (got.Kernel == nil) != (want.Kernel == nil) || (got.Load == nil) != (want.Load == nil) {
		t.Errorf("environment %+v, want %+v", got, want)
	}
	if got.MemoryBytes != nil && *got.MemoryBytes != *want.MemoryBytes {
		t.Errorf("memory %d, want %d", *got.MemoryBytes, *want.MemoryBytes)
	}
}

func TestReasonsPrintInOrder(t *testing.T) {
	r := Reasons{"b": "2", "a": "1", "c": "3", "load": "x", "kernel": "y"}
	for range 20 {
		data, err := r.MarshalJSON()
		if err != nil || string(data) != `{"a":"1","b":"2","c":"3","kernel":"y","load":"x"}` {
			t.Fatalf("%s, %v", data, err)
		}
	}
	if data, err := Reasons(nil).MarshalJSON(); err != nil || string(data) != "{}" {
		t.Errorf("%s, %v", data, err)
	}
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"a\x1b[31mb\r\nc": "a [31mb  c",
		"see https://user:pass@index.example/simple and http://t@x.example/": "see https://***@index.example/simple and http://***@x.example/",
		"mail a@b.example": "mail a@b.example",
		"\xff":             "\ufffd",
		" x\u2028y ":       "x y",
	} {
		if got := clean(in); got != want {
			t.Errorf("clean(%q) = %q, want %q", in, got, want)
		}
	}
	if got := []rune(clean(strings.Repeat("ä", 600))); len(got) != maxDetail {
		t.Errorf("%d characters", len(got))
	}
}
