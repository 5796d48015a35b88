package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/provider-measure/provider-measure/internal/testenv"
)

// invocation is one run of the command as a process of its own.
type invocation struct {
	args []string
	dir  string
	env  []string // the whole environment
	as   *syscall.Credential
	path string // another copy of the program; "" is the one of this test
}

// result is how an invocation ended.
type result struct {
	stdout, stderr string
	status         int
}

// raceOptions keeps a program that the race detector is built into from waiting
// for a second at its end.
const raceOptions = "GORACE=atexit_sleep_ms=0"

// commandPath is the program under test.
func commandPath(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath(programName)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func (i invocation) command(ctx context.Context, t testing.TB) *exec.Cmd {
	t.Helper()
	path := i.path
	if path == "" {
		path = commandPath(t)
	}
	cmd := exec.CommandContext(ctx, path, i.args...)
	cmd.Dir, cmd.Env = i.dir, append([]string{raceOptions}, i.env...)
	if i.as != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: i.as}
	}
	return cmd
}

// run waits for at most five minutes, far beyond what anything here takes.
func (i invocation) run(t testing.TB) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := i.command(ctx, t)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	return result{stdout.String(), stderr.String(), statusOf(t, err)}
}

// statusOf is -1 for a process that a signal ended.
func statusOf(t testing.TB, err error) int {
	t.Helper()
	var ee *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &ee):
		return ee.ExitCode()
	}
	t.Fatal(err)
	return 0
}

// failure is the JSON error on the last line of standard error.
func (r result) failure(t testing.TB) errorBody {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(r.stderr, "\n"), "\n")
	var document errorDocument
	d := json.NewDecoder(strings.NewReader(lines[len(lines)-1]))
	d.DisallowUnknownFields()
	if err := d.Decode(&document); err != nil {
		t.Fatalf("standard error ends without a JSON error: %v\n%s", err, r.stderr)
	}
	return document.Error
}

func (r result) want(t testing.TB, status int) {
	t.Helper()
	if r.status != status {
		t.Fatalf("exit status %d, want %d\nstdout: %.2000s\nstderr: %.4000s", r.status, status, r.stdout, r.stderr)
	}
}

// text is what a nullable text of a JSON error holds.
func text(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}

// sandbox is a host for one test: an environment with the good demo wheel, the
// two providers of testdata, and an empty TMPDIR.
type sandbox struct {
	dir    string
	python string // folder of the virtual environment
	site   string
	demo   string // folder of manifests
	tool   string
	tmp    string
	env    []string
}

// newSandbox skips the test on a host without Python when it needs one.
func newSandbox(t testing.TB, needPython bool) *sandbox {
	t.Helper()
	dir := openTempDir(t)
	s := &sandbox{
		dir: dir, python: filepath.Join(dir, "python"), demo: filepath.Join(dir, "demo"), tool: filepath.Join(dir, "tool"),
		tmp: filepath.Join(dir, "tmp"),
	}
	for _, d := range []string{s.tmp, filepath.Join(dir, "home")} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s.env = []string{"HOME=" + filepath.Join(dir, "home"), "TMPDIR=" + s.tmp}
	copyManifest(t, "demo", s.demo)
	copyManifest(t, "tool", s.tool)
	if !needPython {
		return s
	}
	python := findHostPython(t)
	if python == nil {
		testenv.Skip(t, "python", "no python3 on this host")
	}
	s.site = python.makeEnvironment(t, s.python, filepath.Join(testenv.RepoRoot(t), "testdata", "inputs", "dist", "good"))
	s.env = append(s.env, "PROVIDER_MEASURE_PYTHON="+s.python)
	return s
}

// openTempDir is t.TempDir with a folder that other users may enter.
func openTempDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "provider-measure-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// call runs the command in the sandbox.
func (s *sandbox) call(t testing.TB, args ...string) result {
	t.Helper()
	return invocation{args: args, dir: s.dir, env: s.env}.run(t)
}

// emptyTmp fails when the command left something in its TMPDIR.
func (s *sandbox) emptyTmp(t testing.TB) {
	t.Helper()
	entries, err := os.ReadDir(s.tmp)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		t.Errorf("left in TMPDIR: %s", e.Name())
	}
}
