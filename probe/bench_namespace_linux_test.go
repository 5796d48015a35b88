package probe

import (
	"testing"
	"time"
)

// BenchmarkNamespaces compares runs of true in namespaces with one without and
// with a bare start, in turns: a small host's, and one's that holds 500 MiB.
func BenchmarkNamespaces(b *testing.B) {
	needNamespaces(b, allNamespaces()...)
	b.Run("true", benchmarkNamespaces)
	b.Run("true-500MB", func(b *testing.B) { ballast(500, func() { benchmarkNamespaces(b) }) })
}

func benchmarkNamespaces(b *testing.B) {
	w := workload{"true", "/bin/true", []string{"true"}}
	engine := func(e engine, asked ...Namespace) func() {
		spec := Spec{Path: w.path, Args: w.args, Isolation: IsolationRequest{Namespaces: asked}}
		return func() {
			if r, err := runWith(b.Context(), spec, e); err != nil || r.Outcome != Exited || *r.ExitCode != 0 {
				b.Fatalf("%v %+v", err, r)
			}
		}
	}
	rows := []struct {
		name string
		run  func()
		took time.Duration
	}{
		{name: "bare", run: func() { bareRun(b, w, nil) }},
		{name: "tracer", run: engine(tracerEngine{})},
		{name: "pid", run: engine(tracerEngine{}, NamespacePID)},
		{name: "network", run: engine(tracerEngine{}, NamespaceNetwork)},
		{name: "all-but-user", run: engine(tracerEngine{}, allNamespaces()[1:]...)},
		{name: "user", run: engine(tracerEngine{}, NamespaceUser)},
		{name: "all", run: engine(tracerEngine{}, allNamespaces()...)},
		{name: "portable", run: engine(portableEngine{})},
		{name: "cgroup-alone", run: func() {
			if g, _ := newGroup(Limits{Processes: 1, Memory: 1 << 30}); g.remove() != nil {
				b.Fatal("the group is left")
			}
		}},
	}
	b.ResetTimer()
	for range b.N {
		for i := range rows {
			begin := time.Now()
			rows[i].run()
			rows[i].took += time.Since(begin)
		}
	}
	for _, r := range rows[1:] {
		b.ReportMetric(float64(r.took)/float64(rows[0].took), r.name+"/bare")
	}
}
