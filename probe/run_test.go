//go:build linux || darwin

package probe

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestExitCodes(t *testing.T) {
	each(t, func(t *testing.T, e engine) {
		for _, want := range []int{0, 1, 3, 126, 127, 255} {
			r := must(t, e, shell(t, "exit $1", strconv.Itoa(want)), Exited)
			if r.ExitCode == nil || *r.ExitCode != want {
				t.Errorf("exit code is %s, want %d", code(r), want)
			}
			if r.Wall <= 0 || r.Processes != 1 || len(r.Leftover) != 0 {
				t.Errorf("wall %v, processes %d, leftover %v", r.Wall, r.Processes, r.Leftover)
			}
		}
	})
}

func TestArgumentsAreGivenAsTheyAre(t *testing.T) {
	want := []string{"a b", "", "$HOME", "*", "ü", "-x", "${other}", `"`}
	each(t, func(t *testing.T, e engine) {
		r := must(t, e, self(t, append([]string{"print"}, want...)...), Exited)
		if d := cmp.Diff(want, lines(r.Stdout)); d != "" {
			t.Errorf("arguments (-want +got):\n%s", d)
		}
	})
}

func TestScratchIsWorkingDirectoryHomeAndTemp(t *testing.T) {
	each(t, func(t *testing.T, e engine) {
		s := shell(t, `pwd; echo "$HOME"; echo "$TMPDIR"; echo "$1"; echo "$X"; ls -ld . | cut -c1-10; echo x > f; mkdir d`, ScratchVar+"/a")
		s.Env.Set = []string{"X=" + ScratchVar + "/b"}
		var inspected string
		s.Inspect = func(scratch string, r *Result) error {
			inspected = scratch
			if r.Outcome != Exited {
				t.Errorf("inspected a result that is %v", r.Outcome)
			}
			_, err := os.Stat(filepath.Join(scratch, "f"))
			return err
		}
		r := must(t, e, s, Exited)
		want := []string{inspected, inspected, inspected, inspected + "/a", inspected + "/b", "drwx------"}
		if d := cmp.Diff(want, lines(r.Stdout)); d != "" {
			t.Errorf("output (-want +got):\n%s", d)
		}
	})
}

func TestInspectError(t *testing.T) {
	each(t, func(t *testing.T, e engine) {
		s := shell(t, "exit 4")
		s.Inspect = func(string, *Result) error { return context.DeadlineExceeded }
		r, err := runWith(t.Context(), s, e)
		if !errors.Is(err, CodeInspect) || !errors.Is(err, context.DeadlineExceeded) || r == nil || code(r) != "4" {
			t.Errorf("Run = %v, %v", r, err)
		}
		if left, _ := os.ReadDir(s.ScratchParent); len(left) != 0 {
			t.Error("the scratch directory is left")
		}
	})
}

// TestScratchRemoved checks that what a program leaves is removed whatever its
// modes are, and that nothing outside is touched.
func TestScratchRemoved(t *testing.T) {
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "kept"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	each(t, func(t *testing.T, e engine) {
		must(t, e, shell(t, `mkdir -p a/b/c; echo x > a/b/c/f; ln -s "$1" a/b/link; ln -s "$1" link
			chmod 400 a/b/c/f; chmod 000 a/b/c; chmod 500 a/b a .`, outside), Exited)
	})
	if _, err := os.Stat(filepath.Join(outside, "kept")); err != nil {
		t.Errorf("a file outside was removed: %v", err)
	}
}

func TestStdin(t *testing.T) {
	big := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	each(t, func(t *testing.T, e engine) {
		if r := must(t, e, shell(t, "wc -c; exec cat"), Exited); strings.TrimSpace(string(r.Stdout)) != "0" {
			t.Errorf("without input: %q", r.Stdout)
		}
		s := shell(t, "exec cat")
		s.Stdin = big
		if r := must(t, e, s, Exited); !bytes.Equal(r.Stdout, big) {
			t.Errorf("%d bytes came back of %d", len(r.Stdout), len(big))
		}
		s = shell(t, "echo unread")
		s.Stdin = big
		must(t, e, s, Exited)
		s = shell(t, "cat; echo end")
		s.Stdin = []byte{}
		if r := must(t, e, s, Exited); string(r.Stdout) != "end\n" {
			t.Errorf("with empty input: %q", r.Stdout)
		}
	})
}

// TestStreamLimits pins the limits to the byte: exactly at the limit is not
// exceeded.
func TestStreamLimits(t *testing.T) {
	each(t, func(t *testing.T, e engine) {
		for _, tt := range []struct {
			name           string
			script         string
			stdout, stderr int64
			want           Outcome
			out, err       int
			outOver        bool
			errOver        bool
		}{
			{"below", "printf 1234", 5, 5, Exited, 4, 0, false, false},
			{"exactly", "printf 12345; printf 123 >&2", 5, 3, Exited, 5, 3, false, false},
			{"above", "printf 123456", 5, 5, OutputLimitExceeded, 5, 0, true, false},
			{"standard error above", "printf 123456 >&2; printf 1", 5, 5, OutputLimitExceeded, 1, 5, false, true},
			{"exactly a block", "head -c 65536 /dev/zero", 65536, 1, Exited, 65536, 0, false, false},
			{"a byte above a block", "head -c 65537 /dev/zero", 65536, 1, OutputLimitExceeded, 65536, 0, true, false},
			{"above at the very end", "printf 12345; exec printf 6", 5, 5, OutputLimitExceeded, 5, 0, true, false},
		} {
			s := shell(t, tt.script)
			s.Limits.Stdout, s.Limits.Stderr = tt.stdout, tt.stderr
			r := must(t, e, s, tt.want)
			// What was printed on the other stream before the kill is a race.
			if len(r.Stdout) != tt.out && !tt.errOver || len(r.Stderr) != tt.err || r.StdoutExceeded != tt.outOver || r.StderrExceeded != tt.errOver {
				t.Errorf("%s: %d %v, %d %v", tt.name, len(r.Stdout), r.StdoutExceeded, len(r.Stderr), r.StderrExceeded)
			}
		}
	})
}

func TestWallLimit(t *testing.T) {
	each(t, func(t *testing.T, e engine) {
		for _, script := range []string{
			"sleep 60", "trap '' TERM INT HUP; while :; do sleep 60; done", "kill -STOP $$", "setsid sh -c 'trap \"\" TERM; sleep 60' & wait",
		} {
			s := shell(t, script)
			s.Limits.Wall = 300 * time.Millisecond
			begin := time.Now()
			r := must(t, e, s, TimedOut)
			if d := time.Since(begin); d > 10*time.Second || r.Wall < s.Limits.Wall {
				t.Errorf("%s: took %v, wall %v", script, d, r.Wall)
			}
			if r.Signal != "" {
				t.Errorf("signal %s although it was ours", r.Signal)
			}
		}
	})
}

func TestCancel(t *testing.T) {
	each(t, func(t *testing.T, e engine) {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		s := shell(t, "echo begun; trap '' TERM; sleep 60")
		r, err := runWith(ctx, s, e)
		if err != nil || r.Outcome != Cancelled || r.ExitCode != nil || string(r.Stdout) != "begun\n" {
			t.Errorf("Run = %+v, %v", r, err)
		}
		noSurvivors(t, s.ScratchParent)

		// A context that was done before has started nothing.
		gone, stop := context.WithCancel(t.Context())
		stop()
		r, err = runWith(gone, shell(t, "echo ran"), e)
		if err != nil || r.Outcome != Cancelled || r.Processes != 0 || len(r.Stdout) != 0 {
			t.Errorf("Run with a done context = %+v, %v", r, err)
		}
	})
}

func TestSignals(t *testing.T) {
	each(t, func(t *testing.T, e engine) {
		for _, name := range []string{"SEGV", "KILL", "TERM", "ABRT", "USR1", "TRAP", "XCPU"} {
			r := must(t, e, shell(t, "kill -"+name+" $$"), Signaled)
			if r.Signal != "SIG"+name {
				t.Errorf("signal is %s, want SIG%s", r.Signal, name)
			}
		}
		// What the program handles is its own affair.
		r := must(t, e, shell(t, `trap 'echo caught; exit 5' USR1; kill -USR1 $$; sleep 9`), Exited)
		if code(r) != "5" || string(r.Stdout) != "caught\n" {
			t.Errorf("exit %s, output %q", code(r), r.Stdout)
		}
		// A child's death is its parent's affair.
		r = must(t, e, shell(t, `sh -c 'kill -KILL $$'; echo $?`), Exited)
		if string(r.Stdout) != "137\n" {
			t.Errorf("the parent saw %q", r.Stdout)
		}
	})
}

func TestStartFailures(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	locked := filepath.Join(dir, "locked")
	if err := os.Mkdir(locked, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", filepath.Join(dir, "dangling")); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, path  string
		want        Code
		interpreter string
	}{
		{"missing", filepath.Join(dir, "none"), CodeStartMissing, ""},
		{"dangling link", filepath.Join(dir, "dangling"), CodeStartMissing, ""},
		{"below a file", write("file", "x", 0o644) + "/x", CodeStartMissing, ""},
		{"directory", locked, CodeStartDirectory, ""},
		{"device", "/dev/null", CodeStartNotRegular, ""},
		{"no permission", write("noexec", "#!/bin/sh\n", 0o644), CodeStartPermission, ""},
		{"no shebang", write("text", "echo hi\n", 0o755), CodeStartFormat, ""},
		{"empty", write("empty", "", 0o755), CodeStartFormat, ""},
		{"missing interpreter", write("nointerp", "#!/no/such/interpreter -x\n", 0o755), CodeStartInterpreter, "/no/such/interpreter"},
		{"interpreter with a carriage return", write("crlf", "#!/bin/sh\r\necho\r\n", 0o755), CodeStartInterpreter, "/bin/sh\r"},
		{"interpreter not executable", write("badinterp", "#! "+dir+"/noexec\n", 0o755), CodeStartInterpreter, dir + "/noexec"},
		{"interpreter is a directory", write("dirinterp", "#!"+locked+"\n", 0o755), CodeStartInterpreter, locked},
	} {
		t.Run(tt.name, func(t *testing.T) {
			each(t, func(t *testing.T, e engine) {
				r := must(t, e, Spec{Path: tt.path, Args: []string{"x"}, ScratchParent: t.TempDir()}, StartFailed)
				s := r.StartError
				if s == nil || s.Code != tt.want || !errors.Is(s, tt.want) || s.Interpreter != tt.interpreter || s.Message == "" {
					t.Fatalf("start error is %+v, want %v naming %q", s, tt.want, tt.interpreter)
				}
				if r.Memory.Process.Bytes != nil || r.Memory.Process.Reason == "" || r.Processes != 0 {
					t.Errorf("figures of a program that did not run: %+v", r.Memory)
				}
			})
		})
	}
}

// TestArgumentsTooBig checks that a list beyond the kernel's whole limit is a
// start failure: each argument alone is fine.
func TestArgumentsTooBig(t *testing.T) {
	each(t, func(t *testing.T, e engine) {
		s := shell(t, "exit 0")
		s.Args = append(s.Args, slices.Repeat([]string{strings.Repeat("x", 100<<10)}, 80)...)
		if r := must(t, e, s, StartFailed); r.StartError.Code != CodeStartTooBig {
			t.Errorf("start error is %+v", r.StartError)
		}
	})
}

// TestBusyProgramIsRetried executes a file while a writer still holds it open.
func TestBusyProgramIsRetried(t *testing.T) {
	each(t, func(t *testing.T, e engine) {
		data, err := os.ReadFile("/bin/true")
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "fresh")
		file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o755)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.Write(data); err != nil {
			t.Fatal(err)
		}
		const held = 400 * time.Millisecond
		time.AfterFunc(held, func() { _ = file.Close() })
		begin := time.Now()
		r := must(t, e, Spec{Path: path, Args: []string{"true"}, ScratchParent: t.TempDir()}, Exited)
		if took := time.Since(begin); took < held || r.Wall > took-held/2 {
			t.Errorf("took %v, of which %v were measured: the wait is not to be", took, r.Wall)
		}
	})
}

// TestBusyProgramGivesUp checks that the retries are bounded and stop early for
// a context that is done.
func TestBusyProgramGivesUp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "busy")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	each(t, func(t *testing.T, e engine) {
		r := must(t, e, Spec{Path: path, Args: []string{"x"}, ScratchParent: t.TempDir()}, StartFailed)
		if r.StartError.Code != CodeStartBusy {
			t.Errorf("start error is %+v", r.StartError)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if r, err := runWith(ctx, Spec{Path: path, Args: []string{"x"}}, e); err != nil || r.Outcome != Cancelled {
			t.Errorf("Run = %+v, %v", r, err)
		}
	})
}

func TestLeftoverProcesses(t *testing.T) {
	each(t, func(t *testing.T, e engine) {
		begin := time.Now()
		r := must(t, e, shell(t, "sleep 61 & sleep 62 & echo v1"), Exited)
		if d := time.Since(begin); d > 10*time.Second {
			t.Errorf("took %v", d)
		}
		if len(r.Leftover) != 2 || code(r) != "0" || string(r.Stdout) != "v1\n" {
			t.Errorf("leftover %v, exit %s, output %q", r.Leftover, code(r), r.Stdout)
		}
		if r := must(t, e, shell(t, "sleep 0.01 & wait; echo v1"), Exited); len(r.Leftover) != 0 {
			t.Errorf("leftover of a program that waited: %v", r.Leftover)
		}
	})
}

func TestRequiredPropertyThatIsNotThere(t *testing.T) {
	s := shell(t, "echo ran")
	s.Isolation.Require = []Property{PropertyProcesses, PropertyNetwork}
	marker := filepath.Join(t.TempDir(), "marker")
	s.Args = []string{"sh", "-c", "touch " + marker}
	r, err := runWith(t.Context(), s, portableEngine{})
	if r != nil || !errors.Is(err, CodeNotEnforceable) {
		t.Errorf("Run = %v, %v; want %v", r, err, CodeNotEnforceable)
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("the program ran")
	}
}

func TestExpectation(t *testing.T) {
	each(t, func(t *testing.T, e engine) {
		path := copyOf(t, "/bin/true")
		want := identity(t, path)
		r := must(t, e, Spec{Path: path, Args: []string{"true"}, Expect: &want, ScratchParent: t.TempDir()}, Exited)
		if r.Expectation == nil || !r.Expectation.Matched || r.Expectation.Method == "" {
			t.Errorf("expectation is %+v", r.Expectation)
		}
		for name, change := range map[string]func(*Expectation){
			"device": func(x *Expectation) { x.Dev++ },
			"inode":  func(x *Expectation) { x.Ino++ },
			"size":   func(x *Expectation) { x.Size++ },
			"ctime":  func(x *Expectation) { x.CtimeNS++ },
		} {
			other := want
			change(&other)
			r := must(t, e, Spec{Path: path, Args: []string{"true"}, Expect: &other, ScratchParent: t.TempDir()}, IdentityChanged)
			if x := r.Expectation; x == nil || x.Matched || !strings.Contains(x.Difference, name) {
				t.Errorf("%s: expectation is %+v", name, x)
			}
		}
	})
}

// TestReplacedProgramDoesNotRun replaces a program after it was measured.
func TestReplacedProgramDoesNotRun(t *testing.T) {
	marker := filepath.Join(t.TempDir(), "ran")
	each(t, func(t *testing.T, e engine) {
		path := filepath.Join(t.TempDir(), "script")
		write := func(text string) {
			if err := os.WriteFile(path+".new", []byte(text), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(path+".new", path); err != nil {
				t.Fatal(err)
			}
		}
		write("#!/bin/sh\nexit 0\n")
		want := identity(t, path)
		write("#!/bin/sh\ntouch " + marker + "\n")
		must(t, e, Spec{Path: path, Args: []string{path}, Expect: &want, ScratchParent: t.TempDir()}, IdentityChanged)
		if _, err := os.Stat(marker); err == nil {
			t.Error("the other program ran")
		}
	})
}

func copyOf(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), filepath.Base(path))
	if err := os.WriteFile(to, data, 0o755); err != nil {
		t.Fatal(err)
	}
	return to
}

// TestFloodIsNotKept reads a flood of 64 MiB with a limit of 1 MiB. It has no
// engine under it: what the portable one allocates while it searches for
// processes depends on how many the host has and how long a kill takes there.
func TestFloodIsNotKept(t *testing.T) {
	read, write, err := outputPipe()
	if err != nil {
		t.Fatal(err)
	}
	block := make([]byte, readBlock)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	exceeded := 0
	c := collect(read, 1<<20, func() { exceeded++ })
	for range 64 << 20 / readBlock {
		if _, err := write.Write(block); err != nil {
			t.Fatal(err)
		}
	}
	_ = write.Close()
	c.finish()
	runtime.ReadMemStats(&after)
	if len(c.data) != 1<<20 || !c.exceeded || exceeded != 1 {
		t.Errorf("%d bytes, exceeded %v, told %d times", len(c.data), c.exceeded, exceeded)
	}
	// Growing to the limit by doubling allocates a few times as much.
	if used := after.TotalAlloc - before.TotalAlloc; used > 8<<20 {
		t.Errorf("allocated %d bytes", used)
	}
}
