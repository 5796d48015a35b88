package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/provider-measure/provider-measure/internal/testenv"
)

// sleepyTool makes the script tool hang in one of its jobs, with a child of its
// own that has left its session.
func sleepyTool(t testing.TB, s *sandbox, job string) {
	t.Helper()
	if _, err := os.Stat("/bin/sleep"); err != nil {
		testenv.Skip(t, "coreutils", "no /bin/sleep on this host")
	}
	replaceIn(t, filepath.Join(s.tool, "tool.sh"), "case $1 in\n", "case $1 in\n"+job+") (trap '' INT TERM HUP; /bin/sleep 600 & /bin/sleep 600) & /bin/sleep 600 ;;\n", true)
	replaceIn(t, filepath.Join(s.tool, "tool.toml"), "[[requirements]]",
		"[install]\nmethod = \"command\"\nargv = [\"${executable}\", \"install\", \"${scratch}/target\"]\n\n[[requirements]]", true)
}

// started is a command that runs.
type started struct {
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer
}

func (s *sandbox) start(t testing.TB, args ...string) *started {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	r := &started{cmd: invocation{args: args, dir: s.dir, env: s.env}.command(ctx, t)}
	r.cmd.Stdout, r.cmd.Stderr = &r.stdout, &r.stderr
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *started) wait(t testing.TB) result {
	t.Helper()
	err := r.cmd.Wait()
	return result{r.stdout.String(), r.stderr.String(), statusOf(t, err)}
}

// sleepers waits until all three sleeping processes are there.
func sleepers(t testing.TB, s *sandbox) {
	t.Helper()
	waitFor(t, "the sleeping processes", func() bool {
		count := 0
		for _, line := range childrenIn(t, s.tmp) {
			if strings.HasPrefix(line, "/bin/sleep") {
				count++
			}
		}
		return count == 3
	})
}

func TestSignals(t *testing.T) {
	for _, c := range []struct {
		name, job string
		signal    syscall.Signal
	}{
		{"SIGINT in a measurement", "serve", syscall.SIGINT},
		{"SIGTERM in a measurement", "serve", syscall.SIGTERM},
		{"SIGHUP in a measurement", "serve", syscall.SIGHUP},
		{"SIGINT in a health probe", "--version", syscall.SIGINT},
		{"SIGINT in a cold install", "install", syscall.SIGINT},
		{"SIGTERM in a cold install", "install", syscall.SIGTERM},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSandbox(t, false)
			sleepyTool(t, s, c.job)
			run := s.start(t, "tool.answer", "--providers", s.tool, "--runs", "1", "--include-cold-install")
			sleepers(t, s)
			if err := run.cmd.Process.Signal(c.signal); err != nil {
				t.Fatal(err)
			}
			r := run.wait(t)
			// At once: all are dead before the command ends.
			if left := childrenIn(t, s.tmp); len(left) > 0 {
				t.Errorf("processes left: %v", left)
			}
			r.want(t, exitUnfinished)
			s.emptyTmp(t)
			if r.stdout != "" {
				t.Errorf("standard output: %s", r.stdout)
			}
			if e := r.failure(t); e.Code != "CANCELLED" {
				t.Errorf("code %s, want CANCELLED", e.Code)
			}
		})
	}
}

// A second Ctrl-C must not cut the cleaning up short.
func TestSignalsRepeated(t *testing.T) {
	s := newSandbox(t, false)
	sleepyTool(t, s, "serve")
	run := s.start(t, "tool.answer", "--providers", s.tool, "--runs", "1")
	sleepers(t, s)
	for range 5 {
		if err := run.cmd.Process.Signal(syscall.SIGINT); err != nil {
			break // has ended
		}
	}
	run.wait(t).want(t, exitUnfinished)
	if left := childrenIn(t, s.tmp); len(left) > 0 {
		t.Errorf("processes left: %v", left)
	}
	s.emptyTmp(t)
}

// A read of standard input that never ends is no reason to stay.
func TestSignalWhileReading(t *testing.T) {
	s := newSandbox(t, false)
	run := &started{cmd: invocation{args: []string{"digest", "composite", "-"}, dir: s.dir, env: s.env}.command(t.Context(), t)}
	run.cmd.Stdout, run.cmd.Stderr = &run.stdout, &run.stderr
	stdin, err := run.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	if err := run.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// It has begun to read when it has taken what was written.
	if _, err := stdin.Write([]byte("{")); err != nil {
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond)
	if err := run.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	r := run.wait(t)
	r.want(t, exitUnfinished)
	if e := r.failure(t); e.Code != "CANCELLED" {
		t.Errorf("code %s, want CANCELLED", e.Code)
	}
}

// Killed without a chance to clean up, the kernel ends the children.
func TestKilled(t *testing.T) {
	s := newSandbox(t, false)
	r := s.call(t, "doctor", "--python", "/nowhere")
	r.want(t, exitGood)
	if engine := at(t, decoded(t, r.stdout), "/enforcement/engine"); engine != "tracer" {
		testenv.Skip(t, "ptrace", "the engine here is "+engine+", and the kernel kills only what is traced")
	}
	sleepyTool(t, s, "serve")
	run := s.start(t, "tool.answer", "--providers", s.tool, "--runs", "1")
	sleepers(t, s)
	if err := run.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if r := run.wait(t); r.status != -1 || r.stdout != "" {
		t.Errorf("status %d, standard output %q", r.status, r.stdout)
	}
	waitFor(t, "the end of every child", func() bool { return len(childrenIn(t, s.tmp)) == 0 })
}
