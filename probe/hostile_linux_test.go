package probe

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// hostileScripts are programs that try to outlive their run. Each is given a
// mark as its first argument, which the processes carry in their arguments.
func hostileScripts() map[string]string {
	return map[string]string{
		"background":          `sleep 600 & exit 0`,
		"session":             `setsid sleep 600 & sleep 0.05; exit 0`,
		"double fork":         `(setsid sh -c "(setsid sh -c 'sleep 600; : $1' &) &" &) ; exit 0`,
		"clean environment":   `env -i setsid /bin/sh -c "/bin/sleep 600; : $1" & exit 0`,
		"daemon":              `env -i setsid /bin/sh -c "(/bin/sh -c '/bin/sleep 600; : $1' &) & exit" & sleep 0.02; exit 0`,
		"ignores signals":     `trap '' HUP INT TERM QUIT USR1 USR2; (sleep 600; : $1) & exit 0`,
		"stopped":             `(kill -STOP $(sh -c 'echo $PPID'); sleep 600; : $1) & sleep 0.05; exit 0`,
		"stopped child":       `sleep 600 & kill -STOP $!; exit 0`,
		"keeps forking":       `while :; do (sleep 600; : $1) & sleep 0.001; done & sleep 0.1; exit 0`,
		"forks when dying":    `trap '(setsid sleep 600 &)' EXIT; exit 0`,
		"wide":                `for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do sleep 600 & done; exit 0`,
		"deep":                `d() { if [ "$1" -gt 0 ]; then (d $(($1 - 1))) & fi; sleep 600; }; d 15 & sleep 0.1; exit 0`,
		"holds the pipes":     `setsid sh -c 'sleep 600; : $1' & exit 0`,
		"closes everything":   `setsid sh -c 'exec 0<&- 1>&- 2>&-; sleep 600; : $1' & exit 0`,
		"changes directory":   `cd /; setsid sh -c 'sleep 600; : $1' & exit 0`,
		"background pipe":     `yes | cat > /dev/null & exit 0`,
		"orphan of an orphan": `sh -c "sh -c '(sleep 600; : $1) &' &" & exit 0`,
	}
}

func TestNothingSurvives(t *testing.T) {
	need(t, "setsid")
	for name, script := range hostileScripts() {
		t.Run(name, func(t *testing.T) {
			for range 5 {
				s := shell(t, script)
				s.Args = append(s.Args, s.ScratchParent)
				must(t, tracerEngine{}, s, Exited)
			}
		})
	}
}

// TestPortableKillsWhatItFinds runs those that do not hide from a search.
func TestPortableKillsWhatItFinds(t *testing.T) {
	need(t, "setsid")
	for _, name := range []string{"background", "session", "double fork", "ignores signals", "stopped child", "wide", "deep", "holds the pipes", "closes everything"} {
		t.Run(name, func(t *testing.T) {
			for range 3 {
				s := shell(t, hostileScripts()[name])
				s.Args = append(s.Args, s.ScratchParent)
				must(t, portableEngine{}, s, Exited)
			}
		})
	}
}

func TestForkBomb(t *testing.T) {
	s := shell(t, `f() { f | f & }; f; sleep 60`)
	s.Limits.Processes = 40
	r := must(t, tracerEngine{}, s, ProcessLimitExceeded)
	// Each of the forty may be making one more when the first too many is seen;
	// those are killed in their first stop.
	if r.Peak > 80 {
		t.Errorf("%d processes were there at once", r.Peak)
	}
}

func TestProcessLimitIsExact(t *testing.T) {
	for _, tt := range []struct {
		limit int
		want  Outcome
	}{{5, ProcessLimitExceeded}, {6, Exited}} {
		s := shell(t, `for i in 1 2 3 4 5; do sleep 1 & done; wait`)
		s.Limits.Processes = tt.limit
		r := must(t, tracerEngine{}, s, tt.want)
		if r.Peak != 6 || tt.want == Exited && (r.Processes != 6 || !r.Counted) {
			t.Errorf("limit %d: peak %d, processes %d, counted %v", tt.limit, r.Peak, r.Processes, r.Counted)
		}
	}
}

func TestThreadLimit(t *testing.T) {
	s := self(t, "threads", "200")
	s.Limits.Processes = 2
	must(t, tracerEngine{}, s, ProcessLimitExceeded)
}

// TestStopAndContinue checks that job control behaves as untraced.
func TestStopAndContinue(t *testing.T) {
	r := must(t, tracerEngine{}, shell(t, `
		: > count; size() { wc -c < count; }
		(while :; do echo >> count; sleep 0.005; done) & p=$!
		until [ $(size) -gt 3 ]; do sleep 0.01; done
		kill -STOP $p; sleep 0.1; a=$(size); sleep 0.4; b=$(size)
		[ $a = $b ] && echo stopped
		kill -CONT $p; i=0
		until [ $(size) -gt $b ] || [ $i -gt 500 ]; do i=$((i + 1)); sleep 0.01; done
		[ $(size) -gt $b ] && echo continued
		kill -KILL $p; wait $p; echo $?`), Exited)
	if got := string(r.Stdout); got != "stopped\ncontinued\n137\n" {
		t.Errorf("output is %q, errors %q", got, r.Stderr)
	}
}

// TestParentSeesStops checks that a parent is told of its child's stop and
// continuation, which it asks for with WUNTRACED and WCONTINUED.
func TestParentSeesStops(t *testing.T) {
	python := need(t, "/usr/bin/python3")
	r := must(t, tracerEngine{}, Spec{Path: python, Args: []string{"python3", "-I", "-c", `
import os, signal, time
p = os.fork()
if p == 0:
    time.sleep(60)
os.kill(p, signal.SIGSTOP)
_, s = os.waitpid(p, os.WUNTRACED); print(os.WIFSTOPPED(s), os.WSTOPSIG(s) == signal.SIGSTOP)
os.kill(p, signal.SIGCONT)
_, s = os.waitpid(p, os.WCONTINUED); print(os.WIFCONTINUED(s))
os.kill(p, signal.SIGTERM)
_, s = os.waitpid(p, 0); print(os.WTERMSIG(s) == signal.SIGTERM)
`}, ScratchParent: t.TempDir()}, Exited)
	if got := string(r.Stdout); got != "True True\nTrue\nTrue\n" {
		t.Errorf("output is %q, errors %q", got, r.Stderr)
	}
}

func TestExecFromThread(t *testing.T) {
	r := must(t, tracerEngine{}, self(t, "exec-thread", "/bin/sh", "-c", "echo from a thread; exit 5"), Exited)
	if code(r) != "5" || string(r.Stdout) != "from a thread\n" || r.Processes != 1 {
		t.Errorf("exit %s, output %q, processes %d", code(r), r.Stdout, r.Processes)
	}
}

func TestLeaderEndsBeforeItsThreads(t *testing.T) {
	r := must(t, tracerEngine{}, self(t, "leader-exits"), Exited)
	if code(r) != "7" || r.Memory.Process.Bytes == nil {
		t.Errorf("exit %s, memory %v", code(r), show(r.Memory.Process))
	}
}

// TestVforkAndThreadsOfPython makes and ends many tasks at once, so that
// children end before their makers' events are seen.
func TestVforkAndThreadsOfPython(t *testing.T) {
	python := need(t, "/usr/bin/python3")
	for range 10 {
		vforkAndThreads(t, python)
	}
}

func vforkAndThreads(t *testing.T, python string) {
	t.Helper()
	r := must(t, tracerEngine{}, Spec{Path: python, Args: []string{"python3", "-I", "-c", `
import subprocess, threading
def one(): assert subprocess.run(["/bin/sh", "-c", "exit 3"]).returncode == 3
ts = [threading.Thread(target=one) for _ in range(20)]
[t.start() for t in ts]; [t.join() for t in ts]; print("ok")
`}, ScratchParent: t.TempDir()}, Exited)
	if string(r.Stdout) != "ok\n" || r.Processes != 21 {
		t.Errorf("output %q, errors %q, processes %d", r.Stdout, r.Stderr, r.Processes)
	}
}

// TestOnlyStandardDescriptors checks that nothing of the host is inherited.
func TestOnlyStandardDescriptors(t *testing.T) {
	// A descriptor that is not close-on-exec, as a host is given by its own parent.
	fd, err := unix.Open("/dev/null", unix.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	each(t, func(t *testing.T, e engine) {
		r := must(t, e, shell(t, "ls -l /proc/self/fd | grep -c -- '->'"), Exited)
		// The listing's own descriptor of the directory is the fourth.
		if got := strings.TrimSpace(string(r.Stdout)); got != "4" {
			t.Errorf("%s descriptors are open", got)
		}
	})
}

func TestKernelLimitsOfTheChild(t *testing.T) {
	s := self(t, "limits")
	s.Limits = Limits{CPU: 1500 * time.Millisecond, FileSize: 1 << 20, OpenFiles: 99}
	r := must(t, tracerEngine{}, s, Exited)
	// The Go runtime of the helper raises the soft limit of files to the hard one.
	if got := string(r.Stdout); got != "3 3\n1048576 1048576\n99 99\n0 0\n" {
		t.Errorf("limits are %q", got)
	}
}

func TestFileSizeLimit(t *testing.T) {
	s := shell(t, `head -c 3000000 /dev/zero > f; echo $?; wc -c < f`)
	s.Limits.FileSize = 1 << 20
	r := must(t, tracerEngine{}, s, Exited)
	if got := string(r.Stdout); got != "153\n1048576\n" || !r.FileSizeExceeded {
		t.Errorf("output %q, exceeded %v", got, r.FileSizeExceeded)
	}
	if r := must(t, tracerEngine{}, shell(t, "echo x > f"), Exited); r.FileSizeExceeded {
		t.Error("exceeded by a small file")
	}
}

// TestHostKilled kills a host program in the middle of a run.
func TestHostKilled(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	mark := t.TempDir()
	for i := range 10 {
		ready := filepath.Join(mark, fmt.Sprint(i))
		cmd := exec.CommandContext(t.Context(), exe, helperArg, "host", "/bin/sh", "-c",
			`trap '' TERM HUP; setsid sh -c 'sleep 600; : '"$1" & echo > "$2"; sleep 600`, "sh", mark, ready)
		cmd.Env = []string{"PROBE_TEST_WRITE=" + mark}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for j := 0; ; j++ {
			if _, err := os.Stat(ready); err == nil {
				break
			}
			if j == 4000 {
				t.Fatal("the program never began")
			}
			time.Sleep(5 * time.Millisecond)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		for j := 0; len(survivors(mark)) > 0; j++ {
			if j == 1000 {
				noSurvivors(t, mark)
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
}

// TestForeignChildren runs probes beside a host's own children and checks that
// each side gets its own.
func TestForeignChildren(t *testing.T) {
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 40 {
				want := i % 7
				err := exec.CommandContext(t.Context(), "/bin/sh", "-c", fmt.Sprintf("exit %d", want)).Run()
				var exit *exec.ExitError
				switch {
				case want == 0 && err == nil:
				case errors.As(err, &exit) && exit.ExitCode() == want:
				default:
					t.Errorf("a child of the host ended with %v, want %d", err, want)
				}
			}
		})
		for _, e := range engines() {
			wg.Go(func() {
				for i := range 20 {
					r, err := runWith(t.Context(), Spec{
						Path: "/bin/sh", Args: []string{"sh", "-c", fmt.Sprintf("sh -c 'exit 1'; echo %d; exit %d", i, i)},
					}, e)
					if err != nil || r.Outcome != Exited || *r.ExitCode != i || string(r.Stdout) != fmt.Sprintln(i) {
						t.Errorf("%s: Run = %+v, %v", e.name(), r, err)
					}
				}
			})
		}
	}
	wg.Wait()
}

func TestNeverTheLeader(t *testing.T) {
	if r := must(t, tracerEngine{}, self(t, "other-thread"), Exited); string(r.Stdout) != "ok\n" {
		t.Errorf("output %q, errors %q", r.Stdout, r.Stderr)
	}
}

// TestAdoptedOrphansAreReaped runs as a host to which orphans come, as the first
// process of a container is.
func TestAdoptedOrphansAreReaped(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, helperArg, "subreaper", "/bin/sh", "-c",
		"for i in 1 2 3 4 5; do (sleep 600 & ) & (true &) & done; wait; sleep 0.05; exit 0")
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != "ok\n" {
		t.Errorf("%v: %s", err, out)
	}
}

func TestExecutedImages(t *testing.T) {
	r := must(t, tracerEngine{}, shell(t, "env true; env true"), Exited)
	var names []string
	for _, x := range r.Executed {
		names = append(names, filepath.Base(x.Path))
		var st syscall.Stat_t
		if err := syscall.Stat(x.Path, &st); err != nil || st.Ino != x.Ino || st.Dev != x.Dev {
			t.Errorf("%+v is not the file there now: %+v, %v", x, st, err)
		}
	}
	if len(names) != 3 || names[1] != "env" || names[2] != "true" {
		t.Errorf("executed %q", names)
	}
}

// TestPortableHoldsTheNumber checks that the portable engine kills the group
// before it reaps the leader: after that the group's number could be another's.
func TestPortableHoldsTheNumber(t *testing.T) {
	pid, err := syscall.ForkExec("/bin/true", []string{"true"}, &syscall.ProcAttr{Sys: &syscall.SysProcAttr{Setsid: true}})
	if err != nil {
		t.Fatal(err)
	}
	p := &portable{job: &job{path: "/bin/true", scratch: "/none"}, root: pid, found: map[int]*foundProcess{pid: {start: startOf(pid)}}}
	if err := awaitEnd(pid); err != nil {
		t.Fatal(err)
	}
	if err := p.sweep(); err != nil {
		t.Fatal(err)
	}
	if s, ok := readProcessStat(pid); !ok || s.state != 'Z' {
		t.Errorf("after the sweep the program is in state %c, %v; want a zombie that holds its number", s.state, ok)
	}
	if _, err := syscall.Wait4(pid, nil, 0, nil); err != nil {
		t.Errorf("somebody else has reaped it: %v", err)
	}
}

// TestFallsBackWhereTraceIsRefused runs a host that is traced itself, so that its
// own children cannot be.
func TestFallsBackWhereTraceIsRefused(t *testing.T) {
	r := must(t, tracerEngine{}, self(t, "host", "/bin/echo", "inner"), Exited)
	want := "EXITED portable " + errTraceRefused.Error() + "\ninner\n"
	if string(r.Stdout) != want {
		t.Errorf("output %q, want %q, errors %q", r.Stdout, want, r.Stderr)
	}
	r = must(t, tracerEngine{}, self(t, "host", "/no/such"), Exited)
	if want := "START_FAILED portable"; !strings.HasPrefix(string(r.Stdout), want) {
		t.Errorf("output %q, want %q, errors %q", r.Stdout, want, r.Stderr)
	}
}

func TestHostCapabilities(t *testing.T) {
	r := HostCapabilities(t.Context())
	if r.Engine != EngineTracer || r.EngineReason != "" || len(r.Limits) != 8 || len(r.Figures) == 0 {
		t.Errorf("report is %+v", r)
	}
	for _, p := range r.Properties {
		if p.Enforced == (p.Method == "") || p.Enforced == (p.Reason != "") {
			t.Errorf("neither a method nor a reason, or both: %+v", p)
		}
	}
	for _, c := range append(r.Limits, r.Figures...) {
		if c.Can == (c.Method == "") || c.Can == (c.Reason != "") || c.Exact && !c.Can {
			t.Errorf("neither a method nor a reason, or both: %+v", c)
		}
	}
	must(t, tracerEngine{}, shell(t, "exit 0"), Exited)
}
