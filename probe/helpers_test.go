//go:build linux || darwin

package probe

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/provider-measure/provider-measure/internal/testenv"
)

// helper is one of the programs that the tests run under probe.
func helper(name string, args []string) error {
	switch name {
	case "print":
		for _, a := range args {
			fmt.Println(a)
		}
	case "alloc": // MiB, milliseconds
		return helperAlloc(number(args[0])<<20, time.Duration(number(args[1]))*time.Millisecond)
	case "spin":
		for range runtime.NumCPU() - 1 {
			go spin()
		}
		spin()
	case "sleep":
		time.Sleep(time.Hour)
	case "deaf":
		signal.Ignore()
		fmt.Println("deaf")
		time.Sleep(time.Hour)
	case "threads":
		return helperThreads(number(args[0]))
	case "write": // path, bytes
		return os.WriteFile(args[0], make([]byte, number(args[1])), 0o600)
	case "exec-thread":
		done := make(chan error)
		go func() {
			runtime.LockOSThread()
			done <- syscall.Exec(args[0], args, os.Environ())
		}()
		runtime.LockOSThread()
		return <-done
	case "host": // program and arguments: run it as a host program does
		s := Spec{Path: args[0], Args: args, Env: Environment{Path: []string{"/usr/bin", "/bin"}}}
		if dir := os.Getenv("PROBE_TEST_WRITE"); dir != "" {
			s.Isolation.Write = []string{dir}
		}
		r, err := Run(context.Background(), s)
		if err != nil {
			return err
		}
		fmt.Println(r.Outcome, r.Engine, r.EngineReason)
		_, err = os.Stdout.Write(r.Stdout)
		return err
	default:
		return platformHelper(name, args)
	}
	return nil
}

// helperAlloc holds memory outside of Go's heap, of which the race detector
// would keep copies.
func helperAlloc(size int, hold time.Duration) error {
	if size > 0 {
		held, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
		if err != nil {
			return err
		}
		for i := 0; i < len(held); i += 512 {
			held[i] = 1
		}
	}
	time.Sleep(hold)
	return nil
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}

func spin() {
	for x := 1; x != 0; {
		x = x*3 | 1
	}
}

func helperThreads(n int) error {
	for range n {
		go func() {
			runtime.LockOSThread()
			time.Sleep(time.Hour)
		}()
	}
	time.Sleep(time.Hour)
	return nil
}

// self is a Spec that runs a helper of this test binary.
func self(t testing.TB, args ...string) Spec {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Spec{Path: path, Args: append([]string{path, helperArg}, args...), ScratchParent: t.TempDir()}
}

// shell is a Spec that runs a script with /bin/sh.
func shell(t testing.TB, script string, args ...string) Spec {
	t.Helper()
	return Spec{
		Path: "/bin/sh", Args: append([]string{"sh", "-c", script, "sh"}, args...),
		Env: Environment{Path: []string{"/usr/bin", "/bin"}}, ScratchParent: t.TempDir(),
	}
}

// input is a Spec that runs one of the inputs of testdata.
func input(t testing.TB, name string) Spec {
	t.Helper()
	path := filepath.Join(testenv.RepoRoot(t), "testdata", "inputs", "probe", name)
	return Spec{
		Path: path, Args: []string{path}, Env: Environment{Path: []string{"/usr/bin", "/bin"}}, ScratchParent: t.TempDir(),
	}
}

// must runs s and expects an outcome, and no process and no file left.
func must(t testing.TB, e engine, s Spec, want Outcome) *Result {
	t.Helper()
	r, err := runWith(t.Context(), s, e)
	if err != nil {
		t.Fatalf("%s: %v", e.name(), err)
	}
	if r.Outcome != want {
		t.Fatalf("%s: outcome is %v (exit %v, signal %q, start %v), want %v\nstdout: %.400s\nstderr: %.400s",
			e.name(), r.Outcome, code(r), r.Signal, r.StartError, want, r.Stdout, r.Stderr)
	}
	if (r.ExitCode != nil) != (want == Exited) {
		t.Errorf("%s: exit code is %v for %v", e.name(), code(r), want)
	}
	if s.ScratchParent != "" {
		if left, _ := os.ReadDir(s.ScratchParent); len(left) != 0 {
			t.Errorf("%s: %d entries are left in the scratch parent", e.name(), len(left))
		}
		noSurvivors(t, s.ScratchParent)
	}
	return r
}

func code(r *Result) string {
	if r.ExitCode == nil {
		return "none"
	}
	return strconv.Itoa(*r.ExitCode)
}

// each runs a test with every engine of this host.
func each(t *testing.T, f func(t *testing.T, e engine)) {
	t.Helper()
	for _, e := range engines() {
		t.Run(e.name(), func(t *testing.T) { f(t, e) })
	}
}

// noSurvivors fails when a process is alive that was given the mark, in its
// environment or arguments.
func noSurvivors(t testing.TB, mark string) {
	t.Helper()
	for _, pid := range survivors(mark) {
		t.Errorf("process %d (%s) survived", pid, processName(pid))
	}
}

// survivors lists the processes, but this one and zombies that are not its own,
// whose environment or arguments hold the mark. It needs /proc, and sees nothing
// elsewhere.
func survivors(mark string) []int {
	var found []int
	for _, e := range processTable() {
		if e.pid == os.Getpid() {
			continue
		}
		base := filepath.Join("/proc", strconv.Itoa(e.pid))
		env, _ := os.ReadFile(filepath.Join(base, "environ"))
		args, _ := os.ReadFile(filepath.Join(base, "cmdline"))
		if bytes.Contains(env, []byte(mark)) || bytes.Contains(args, []byte(mark)) {
			found = append(found, e.pid)
		}
	}
	return found
}

func need(t testing.TB, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		testenv.Skip(t, "program", program+" is not installed")
	}
	return path
}

func lines(data []byte) []string {
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}
