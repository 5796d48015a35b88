package probe

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"
)

// The tests of this file show the right behaviour for weaknesses (a) to (j) that
// were found in another engine for the same contract.

// (a) A descendant in another session that holds the pipe must not block the
// call, nor make a time-out of a clean exit.
func TestWeaknessA(t *testing.T) {
	need(t, "setsid")
	each(t, func(t *testing.T, e engine) {
		s := shell(t, "setsid sleep 20 & sleep 0.1; echo v1")
		s.Limits.Wall = 10 * time.Second
		begin := time.Now()
		r := must(t, e, s, Exited)
		if d := time.Since(begin); d > 8*time.Second || code(r) != "0" || len(r.Leftover) != 1 || string(r.Stdout) != "v1\n" {
			t.Errorf("took %v, exit %s, leftover %v, output %q", d, code(r), r.Leftover, r.Stdout)
		}
	})
}

// (b) A descendant in another session that holds no pipe must not survive.
func TestWeaknessB(t *testing.T) {
	need(t, "setsid")
	each(t, func(t *testing.T, e engine) {
		r := must(t, e, shell(t, "setsid sleep 600 < /dev/null > /dev/null 2>&1 & sleep 0.1; exit 0"), Exited)
		if len(r.Leftover) != 1 {
			t.Errorf("leftover is %v", r.Leftover)
		}
	})
}

// (c) With limits, a missing program is a start failure and no exit 127.
func TestWeaknessC(t *testing.T) {
	each(t, func(t *testing.T, e engine) {
		r := must(t, e, Spec{
			Path: "/no/such/program", Args: []string{"x"}, ScratchParent: t.TempDir(),
			Limits: Limits{CPU: time.Second, Memory: 1 << 30, FileSize: 1 << 20},
		}, StartFailed)
		if r.StartError.Code != CodeStartMissing {
			t.Errorf("start error is %+v", r.StartError)
		}
	})
}

// (d) A killed program has no exit code.
func TestWeaknessD(t *testing.T) {
	each(t, func(t *testing.T, e engine) {
		s := shell(t, "sleep 60")
		s.Limits.Wall = 100 * time.Millisecond
		if r := must(t, e, s, TimedOut); r.ExitCode != nil {
			t.Errorf("exit code is %d", *r.ExitCode)
		}
		if r := must(t, e, shell(t, "kill -KILL $$"), Signaled); r.ExitCode != nil || r.Signal != "SIGKILL" {
			t.Errorf("exit code is %s, signal %s", code(r), r.Signal)
		}
	})
}

// (e) A death by the CPU limit is told apart from other kills.
func TestWeaknessE(t *testing.T) {
	s := shell(t, "while :; do :; done")
	s.Limits.CPU = 200 * time.Millisecond
	must(t, tracerEngine{}, s, CPULimitExceeded)
	must(t, tracerEngine{}, shell(t, "kill -KILL $$"), Signaled)
	must(t, tracerEngine{}, shell(t, "kill -XCPU $$"), Signaled)
}

// (f) Shared pages are not counted for each process, and a short program has a
// figure.
func TestWeaknessF(t *testing.T) {
	TestSharedPagesCountOnce(t)
	for range 20 {
		r := must(t, tracerEngine{}, Spec{Path: "/bin/true", Args: []string{"true"}, ScratchParent: t.TempDir()}, Exited)
		if b := r.Memory.Process.Bytes; b == nil || *b == 0 {
			t.Errorf("figure of a short program: %v", show(r.Memory.Process))
		}
	}
}

// (g) A NUL in an argument is a typed error.
func TestWeaknessG(t *testing.T) {
	_, err := Run(t.Context(), Spec{Path: "/bin/true", Args: []string{"true", "a\x00"}})
	if !errors.Is(err, CodeBadArgs) {
		t.Errorf("Run = %v, want %v", err, CodeBadArgs)
	}
}

// (h) Processes are limited in number and memory is limited for all of them
// together.
func TestWeaknessH(t *testing.T) {
	s := shell(t, "for i in 1 2 3 4 5 6 7 8; do sleep 60 & done; wait")
	s.Limits.Processes = 4
	must(t, tracerEngine{}, s, ProcessLimitExceeded)
	TestMemoryLimitOfTheTree(t)
}

// (i) A kill never goes to a number that has been given back.
func TestWeaknessI(t *testing.T) { TestPortableHoldsTheNumber(t) }

// (j) Large input goes on standard input; an argument that is too long is named
// and refused before the kernel would refuse the whole list.
func TestWeaknessJ(t *testing.T) {
	big := strings.Repeat("x", 1<<20)
	_, err := Run(t.Context(), Spec{Path: "/bin/cat", Args: []string{"cat", big}})
	if !errors.Is(err, CodeArgTooLong) || !strings.Contains(err.Error(), "argument 1") {
		t.Errorf("Run = %.200v, want %v naming the argument", err, CodeArgTooLong)
	}
	each(t, func(t *testing.T, e engine) {
		s := Spec{Path: "/bin/cat", Args: []string{"cat"}, Stdin: []byte(big), ScratchParent: t.TempDir()}
		if r := must(t, e, s, Exited); !bytes.Equal(r.Stdout, []byte(big)) {
			t.Errorf("%d bytes came back", len(r.Stdout))
		}
	})
}
