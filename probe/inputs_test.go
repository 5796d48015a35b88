//go:build linux || darwin

package probe

import (
	"bytes"
	"os"
	"runtime"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The tests of this file run the inputs of testdata/inputs/probe; what each must
// do is in the README there.

func TestInputPrintsEnv(t *testing.T) {
	t.Setenv("PROBE_TEST_SECRET", "hunter2")
	t.Setenv("PROBE_TEST_PLAIN", "plain")
	each(t, func(t *testing.T, e engine) {
		s := input(t, "prints-env")
		s.Env.Admit = []string{"PROBE_TEST_SECRET"}
		s.Env.Lookup = os.LookupEnv
		r := must(t, e, s, Exited)
		var names []string
		for _, line := range lines(r.Stdout) {
			name, _, _ := strings.Cut(line, "=")
			// dash exports these three by itself.
			if name != "PWD" && name != "_" && name != "OLDPWD" && name != "SHLVL" {
				names = append(names, name)
			}
		}
		sort.Strings(names)
		want := []string{"HOME", "LANG", "LC_ALL", "PATH", "PYTHONDONTWRITEBYTECODE", "PYTHONHASHSEED", "TMPDIR", "TZ"}
		if d := cmp.Diff(want, names); d != "" {
			t.Errorf("variables (-want +got):\n%s", d)
		}
		if d := cmp.Diff(want, r.EnvNames); d != "" {
			t.Errorf("EnvNames (-want +got):\n%s", d)
		}
		if d := cmp.Diff([]string{"PROBE_TEST_SECRET"}, r.Withheld); d != "" {
			t.Errorf("Withheld (-want +got):\n%s", d)
		}
	})
}

func TestInputNeedsHome(t *testing.T) {
	each(t, func(t *testing.T, e engine) {
		r := must(t, e, input(t, "needs-home"), Exited)
		if code(r) != "0" || string(r.Stdout) != "v1.0.0\n" {
			t.Errorf("exit %s, output %q, errors %q", code(r), r.Stdout, r.Stderr)
		}
	})
}

func TestInputGrandchildHoldsPipe(t *testing.T) {
	each(t, func(t *testing.T, e engine) {
		begin := time.Now()
		r := must(t, e, input(t, "grandchild-holds-pipe"), Exited)
		if d := time.Since(begin); d > 10*time.Second {
			t.Errorf("took %v", d)
		}
		if code(r) != "0" || string(r.Stdout) != "v1.0.0\n" || len(r.Leftover) != 1 {
			t.Errorf("exit %s, output %q, leftover %v", code(r), r.Stdout, r.Leftover)
		}
	})
}

func TestInputIgnoresTermFiftyTimes(t *testing.T) {
	each(t, func(t *testing.T, e engine) {
		for range 50 {
			s := input(t, "ignores-term")
			s.Limits.Wall = 30 * time.Millisecond
			must(t, e, s, TimedOut)
		}
	})
}

func TestInputFlood(t *testing.T) {
	each(t, func(t *testing.T, e engine) {
		s := input(t, "flood")
		s.Limits.Stdout = 1 << 20
		r := must(t, e, s, OutputLimitExceeded)
		if len(r.Stdout) != 1<<20 || !r.StdoutExceeded || r.StderrExceeded {
			t.Errorf("%d bytes, exceeded %v %v", len(r.Stdout), r.StdoutExceeded, r.StderrExceeded)
		}
		if !bytes.HasPrefix(r.Stdout, []byte("0123456789\n0123456789\n")) {
			t.Errorf("output begins %q", r.Stdout[:30])
		}
	})
}

func TestInputStderrThenOK(t *testing.T) {
	each(t, func(t *testing.T, e engine) {
		r := must(t, e, input(t, "stderr-64k-then-ok"), Exited)
		if code(r) != "0" || string(r.Stdout) != "v1.0.0\n" || !bytes.Equal(r.Stderr, bytes.Repeat([]byte("e"), 200000)) {
			t.Errorf("exit %s, output %q, %d bytes of errors", code(r), r.Stdout, len(r.Stderr))
		}
	})
}

func TestInputVersionStderr(t *testing.T) {
	each(t, func(t *testing.T, e engine) {
		r := must(t, e, input(t, "version-stderr"), Exited)
		if len(r.Stdout) != 0 || string(r.Stderr) != "v1.0.0\n" {
			t.Errorf("output %q, errors %q", r.Stdout, r.Stderr)
		}
	})
}

// TestInputRSSTree runs two processes that hold 200 MiB each at the same time.
func TestInputRSSTree(t *testing.T) {
	need(t, "/usr/bin/python3")
	if runtime.GOOS != "linux" {
		t.Log("the tree is not sampled here; only the process figure is checked")
	}
	const one = 200 << 20
	each(t, func(t *testing.T, e engine) {
		r := must(t, e, input(t, "rss-tree"), Exited)
		process, tree := r.Memory.Process, r.Memory.Tree
		if process.Bytes == nil || *process.Bytes < one || *process.Bytes > one*5/4 || process.Scope != "process" || process.Method == "" {
			t.Errorf("process figure is %+v", show(process))
		}
		if runtime.GOOS != "linux" {
			return
		}
		if tree.Bytes == nil || *tree.Bytes < 2*one || *tree.Bytes > 2*one*5/4 || tree.Scope != "tree" || tree.Method == "" || tree.Period == 0 {
			t.Errorf("tree figure is %+v", show(tree))
		}
	})
}

func TestInputNotExecutable(t *testing.T) {
	each(t, func(t *testing.T, e engine) {
		if r := must(t, e, input(t, "not-executable"), StartFailed); r.StartError.Code != CodeStartPermission {
			t.Errorf("start error is %+v", r.StartError)
		}
	})
}

func TestInputNoShebang(t *testing.T) {
	each(t, func(t *testing.T, e engine) {
		r := must(t, e, input(t, "no-shebang"), StartFailed)
		if r.StartError.Code != CodeStartFormat || len(r.Stdout) != 0 {
			t.Errorf("start error is %+v, output %q", r.StartError, r.Stdout)
		}
	})
}

func TestInputDiesBySignal(t *testing.T) {
	each(t, func(t *testing.T, e engine) {
		if r := must(t, e, input(t, "dies-by-signal"), Signaled); r.Signal != "SIGSEGV" {
			t.Errorf("signal is %q", r.Signal)
		}
	})
}

// TestEveryInputIsTested fails when an input is added and no test names it.
func TestEveryInputIsTested(t *testing.T) {
	source, err := os.ReadFile("inputs_test.go")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(strings.TrimSuffix(input(t, "").Path, "/"))
	if err != nil || len(entries) == 0 {
		t.Fatalf("the inputs are missing: %v", err)
	}
	for _, entry := range entries {
		if !bytes.Contains(source, []byte(`input(t, "`+entry.Name()+`")`)) {
			t.Errorf("no test runs the input %s", entry.Name())
		}
	}
}

func show(f Figure) any {
	if f.Bytes == nil {
		return f
	}
	return []any{*f.Bytes, f.Method, f.Scope, f.Period}
}
