package probe

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/provider-measure/provider-measure/internal/testenv"
)

// BenchmarkObserve reports the time of an observed run as a ratio to the same
// run unobserved, taken in turns; stops/op is how many openings were stopped.
func BenchmarkObserve(b *testing.B) {
	environment := Environment{Path: []string{"/usr/bin", "/bin"}}
	python := filepath.Join(testenv.RepoRoot(b), ".providers", "venv", "bin", "python")
	for _, w := range []struct {
		workload
		needs string
	}{
		{workload{"true", "/bin/true", []string{"true"}}, ""},
		{workload{"networkx", python, []string{python, "-I", "-B", "-c", "import networkx; assert networkx.path_graph(3).size() == 2"}}, python},
		{workload{"forks", "/bin/sh", []string{"sh", "-c", "i=0; while [ $i -lt 200 ]; do i=$((i + 1)); (exit 0); done"}}, ""},
		{workload{"execs", "/bin/sh", []string{"sh", "-c", "i=0; while [ $i -lt 100 ]; do i=$((i + 1)); cat /dev/null; done"}}, ""},
	} {
		b.Run(w.name, func(b *testing.B) {
			if _, err := os.Stat(w.path); w.needs != "" && err != nil {
				testenv.Skip(b, "provider", "networkx is not in .providers")
			}
			spec := Spec{Path: w.path, Args: w.args, Env: environment, ScratchParent: b.TempDir()}
			run := func(observe bool) (time.Duration, *Result) {
				s := spec
				s.ObserveFiles = observe
				begin := time.Now()
				r := must(b, tracerEngine{}, s, Exited)
				return time.Since(begin), r
			}
			run(true)
			var with, without time.Duration
			files, failed := 0, int64(0)
			b.ResetTimer()
			for range b.N {
				plain, _ := run(false)
				watched, r := run(true)
				with, without = with+watched, without+plain
				files, failed = len(r.Observed), r.ObservedFailed
			}
			b.ReportMetric(float64(with)/float64(without), "observed/plain")
			b.ReportMetric(float64(without.Milliseconds())/float64(b.N), "plain-ms")
			b.ReportMetric(float64(files), "files")
			b.ReportMetric(float64(failed), "failed")
		})
	}
}
