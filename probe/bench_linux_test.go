package probe

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
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

func ratio(b *testing.B, w workload, cache string, env []string) {
	spec := Spec{
		Path: w.path, Args: w.args, Limits: Limits{Processes: 1000},
		Env:       Environment{Set: []string{"GOCACHE=" + cache, "GOTOOLCHAIN=local", "GOFLAGS=-mod=mod"}},
		Isolation: IsolationRequest{Write: []string{cache}},
	}
	var raw, traced, portable time.Duration
	timed := func(total *time.Duration, f func()) {
		begin := time.Now()
		f()
		*total += time.Since(begin)
	}
	engine := func(e engine) func() {
		return func() {
			if r, err := runWith(b.Context(), spec, e); err != nil || r.Outcome != Exited || *r.ExitCode != 0 {
				b.Fatalf("%v %+v", err, r)
			}
		}
	}
	bare := func() { bareRun(b, w, env) }
	bare()
	engine(tracerEngine{})()
	b.ResetTimer()
	for range b.N {
		timed(&raw, bare)
		timed(&traced, engine(tracerEngine{}))
		timed(&portable, engine(portableEngine{}))
	}
	b.ReportMetric(float64(traced)/float64(raw), "tracer/bare")
	b.ReportMetric(float64(portable)/float64(raw), "portable/bare")
	b.ReportMetric(float64(raw.Microseconds())/float64(b.N), "bare-us")
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
