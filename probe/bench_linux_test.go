package probe

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The benchmarks report ratios to starting the same program bare, with
// syscall.ForkExec, taken in turns within one run: on a shared machine absolute
// times say little, and ratios of different runs less.

type workload struct {
	name string
	path string
	args []string
}

func workloads(b *testing.B) []workload {
	all := []workload{
		{"true", "/bin/true", []string{"true"}},
		{"forks", "/bin/sh", []string{"sh", "-c", "i=0; while [ $i -lt 100 ]; do i=$((i + 1)); (exit 0); done"}},
		{"execs", "/bin/sh", []string{"sh", "-c", "i=0; while [ $i -lt 50 ]; do i=$((i + 1)); /bin/true; done"}},
	}
	if _, err := os.Stat("/usr/bin/python3"); err == nil {
		all = append(all, workload{"python", "/usr/bin/python3", []string{"python3", "-I", "-B", "-c", "import json, decimal, ssl, asyncio"}})
	}
	if _, err := os.Stat("/usr/local/go/bin/go"); err == nil {
		dir := b.TempDir()
		for name, text := range map[string]string{"go.mod": "module x\n\ngo 1.24\n", "main.go": "package main\n\nfunc main() {}\n"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				b.Fatal(err)
			}
		}
		all = append(all, workload{"gobuild", "/usr/local/go/bin/go", []string{"go", "build", "-C", dir, "-o", os.DevNull, "."}})
	}
	return all
}

// BenchmarkRatio compares the engines with a bare start.
func BenchmarkRatio(b *testing.B) {
	cache := b.TempDir()
	env := []string{"HOME=" + cache, "TMPDIR=" + cache, "GOCACHE=" + cache, "GOTOOLCHAIN=local", "GOFLAGS=-mod=mod"}
	for _, w := range workloads(b) {
		b.Run(w.name, func(b *testing.B) { ratio(b, w, cache, env) })
	}
	b.Run("true-500MB", func(b *testing.B) {
		ballast(500, func() { ratio(b, workloads(b)[0], cache, env) })
	})
}

// ratio takes every variant in turn and compares the medians, which a moment in
// which the machine was busy with something else does not move.
func ratio(b *testing.B, w workload, cache string, env []string) {
	spec := Spec{
		Path: w.path, Args: w.args, Limits: Limits{Processes: 1000},
		Env:       Environment{Set: []string{"GOCACHE=" + cache, "GOTOOLCHAIN=local", "GOFLAGS=-mod=mod"}},
		Isolation: IsolationRequest{Write: []string{cache}}, ScratchParent: scratchParent(b),
	}
	engine := func(e engine) func() {
		return func() {
			if r, err := runWith(b.Context(), spec, e); err != nil || r.Outcome != Exited || *r.ExitCode != 0 {
				b.Fatalf("%v %+v", err, r)
			}
		}
	}
	variants := []variant{
		{name: "bare", run: func() { bareRun(b, w, env) }},
		{name: "tracer", run: engine(tracerEngine{})},
		{name: "unrestricted", run: engine(tracerEngine{bare: true})},
	}
	if path, err := exec.LookPath("bwrap"); err == nil {
		wrapped := workload{w.name, path, append([]string{"bwrap", "--unshare-all", "--die-with-parent", "--bind", "/", "/", "--", w.path}, w.args[1:]...)}
		variants = append(variants, variant{name: "bwrap", run: func() { bareRun(b, wrapped, env) }})
	} else {
		b.Log("SKIP[program] bwrap is not installed: no row for it")
	}
	for i := range variants {
		variants[i].run()
	}
	b.ResetTimer()
	for range b.N {
		for i := range variants {
			variants[i].once()
		}
	}
	// Not in turn with the others: where it makes a cgroup, the kernel's forks of
	// the whole machine are slower for a while after that.
	portable := variant{name: "portable", run: engine(portableEngine{})}
	for range b.N {
		portable.once()
	}
	variants = append(variants, portable)
	bare := median(variants[0].wall)
	b.ReportMetric(float64(bare.Microseconds()), "bare-us")
	for _, v := range variants[1:] {
		b.ReportMetric(float64(median(v.wall))/float64(bare), v.name+"/bare")
	}
	b.ReportMetric(float64(variants[1].cpu.Microseconds())/float64(b.N), "tracer-cpu-us")
}

// scratchParent is a directory in memory where there is one: making a directory
// on a disk's file system takes from 20 to 700 microseconds here, and says nothing
// of an engine.
func scratchParent(b *testing.B) string {
	dir, err := os.MkdirTemp("/dev/shm", "probe-bench-")
	if err != nil {
		return b.TempDir()
	}
	b.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// variant is one way to run a workload, and what its runs took.
type variant struct {
	name string
	run  func()
	wall []time.Duration
	cpu  time.Duration // of this process and what it started, in all runs
}

func (v *variant) once() {
	cpu, begin := cpuUsed(), time.Now()
	v.run()
	v.wall = append(v.wall, time.Since(begin))
	v.cpu += cpuUsed() - cpu
}

func cpuUsed() time.Duration {
	var total time.Duration
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var usage unix.Rusage
		_ = unix.Getrusage(who, &usage)
		total += timeval(usage.Utime) + timeval(usage.Stime)
	}
	return total
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

func bareRun(b *testing.B, w workload, env []string) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer null.Close()
	pid, err := syscall.ForkExec(w.path, w.args, &syscall.ProcAttr{Env: env, Files: []uintptr{null.Fd(), null.Fd(), null.Fd()}})
	if err != nil {
		b.Fatal(err)
	}
	var ws syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &ws, 0, nil); err != nil || ws.ExitStatus() != 0 {
		b.Fatalf("%v %v", err, ws)
	}
}
