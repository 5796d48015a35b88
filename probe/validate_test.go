package probe

import (
	"errors"
	"math"
	"os"
	"strings"
	"testing"
	"time"
)

// TestRunRefusesBadSpec checks that nothing is made or started for a Spec that
// cannot be run.
func TestRunRefusesBadSpec(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*Spec)
		want   Code
	}{
		{"relative path", func(s *Spec) { s.Path = "true" }, CodeBadPath},
		{"empty path", func(s *Spec) { s.Path = "" }, CodeBadPath},
		{"NUL in path", func(s *Spec) { s.Path = "/bin/tr\x00ue" }, CodeBadPath},
		{"relative scratch parent", func(s *Spec) { s.ScratchParent = "tmp" }, CodeBadPath},
		{"no arguments", func(s *Spec) { s.Args = nil }, CodeBadArgs},
		{"NUL in argument", func(s *Spec) { s.Args = []string{"true", "a\x00b"} }, CodeBadArgs},
		{"long argument", func(s *Spec) { s.Args = []string{"true", strings.Repeat("x", 128<<10)} }, CodeArgTooLong},
		{"entry without equals", func(s *Spec) { s.Env.Set = []string{"X"} }, CodeBadEnv},
		{"long variable", func(s *Spec) { s.Env.Set = []string{"X=" + strings.Repeat("x", 128<<10)} }, CodeEnvTooLong},
		{"relative PATH", func(s *Spec) { s.Env.Path = []string{"."} }, CodeBadSearchPath},
		{"negative wall", func(s *Spec) { s.Limits.Wall = -1 }, CodeBadLimit},
		{"huge wall", func(s *Spec) { s.Limits.Wall = math.MaxInt64 }, CodeBadLimit},
		{"negative CPU", func(s *Spec) { s.Limits.CPU = -time.Second }, CodeBadLimit},
		{"huge CPU", func(s *Spec) { s.Limits.CPU = math.MaxInt64 }, CodeBadLimit},
		{"negative memory", func(s *Spec) { s.Limits.Memory = -1 }, CodeBadLimit},
		{"huge memory", func(s *Spec) { s.Limits.Memory = math.MaxInt64 }, CodeBadLimit},
		{"negative file size", func(s *Spec) { s.Limits.FileSize = -1 }, CodeBadLimit},
		{"negative stdout", func(s *Spec) { s.Limits.Stdout = -1 }, CodeBadLimit},
		{"huge stderr", func(s *Spec) { s.Limits.Stderr = maxStream + 1 }, CodeBadLimit},
		{"negative processes", func(s *Spec) { s.Limits.Processes = -1 }, CodeBadLimit},
		{"huge processes", func(s *Spec) { s.Limits.Processes = math.MaxInt }, CodeBadLimit},
		{"few files", func(s *Spec) { s.Limits.OpenFiles = 3 }, CodeBadLimit},
		{"negative files", func(s *Spec) { s.Limits.OpenFiles = math.MinInt }, CodeBadLimit},
		{"unknown policy", func(s *Spec) { s.Isolation.Network = 7 }, CodeBadIsolation},
		{"unknown property", func(s *Spec) { s.Isolation.Require = []Property{"magic"} }, CodeBadIsolation},
		{"deny and allow", func(s *Spec) { s.Isolation.Network = NetworkAllow; s.Isolation.Require = []Property{PropertyNetwork} }, CodeBadIsolation},
		{"reads of nothing", func(s *Spec) { s.Isolation.Require = []Property{PropertyReads} }, CodeBadIsolation},
		{"relative write", func(s *Spec) { s.Isolation.Write = []string{"x"} }, CodeBadIsolation},
		{"NUL in read", func(s *Spec) { s.Isolation.Read = []string{"/\x00"} }, CodeBadIsolation},
		{"expectation of nothing", func(s *Spec) { s.Expect = &Expectation{} }, CodeBadExpectation},
		{"expectation of an interpreter's interpreter", func(s *Spec) {
			s.Expect = &Expectation{Ino: 1, Interpreter: &Expectation{Ino: 1, Interpreter: &Expectation{Ino: 1}}}
		}, CodeBadExpectation},
	} {
		t.Run(tt.name, func(t *testing.T) {
			parent := t.TempDir()
			s := Spec{Path: "/bin/true", Args: []string{"true"}, ScratchParent: parent}
			tt.change(&s)
			r, err := Run(t.Context(), s)
			var e *Error
			if r != nil || !errors.Is(err, tt.want) || !errors.As(err, &e) || e.Code != tt.want {
				t.Errorf("Run = %v, %v; want %v", r, err, tt.want)
			}
			if left, _ := os.ReadDir(parent); len(left) != 0 {
				t.Errorf("%d entries are left in the scratch parent", len(left))
			}
		})
	}
}

func TestLimitDefaults(t *testing.T) {
	got, err := Limits{}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	want := Limits{
		Wall: time.Minute, CPU: 5 * time.Minute, Memory: 4 << 30, FileSize: 4 << 30, Stdout: 8 << 20, Stderr: 8 << 20,
		Processes: 256, OpenFiles: 1024,
	}
	if got != want {
		t.Errorf("defaults are %+v, want %+v", got, want)
	}
	most := Limits{
		Wall: maxWall, CPU: maxCPU, Memory: maxBytes, FileSize: maxBytes, Stdout: maxStream, Stderr: maxStream,
		Processes: maxProcesses, OpenFiles: maxOpenFiles,
	}
	if got, err := most.withDefaults(); err != nil || got != most {
		t.Errorf("the bounds themselves: %+v, %v", got, err)
	}
	for _, c := range []struct {
		limit time.Duration
		want  uint64
	}{{time.Nanosecond, 2}, {time.Second, 2}, {time.Second + 1, 3}} {
		if got := (Limits{CPU: c.limit}).cpuSeconds(); got != c.want {
			t.Errorf("cpuSeconds of %v = %d, want %d", c.limit, got, c.want)
		}
	}
}
