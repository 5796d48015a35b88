package provider

import (
	"context"
	"sync"

	"github.com/provider-measure/provider-measure/probe"
)

// runFunc is HostOptions.Run.
type runFunc = func(context.Context, probe.Spec) (*probe.Result, error)

// countRuns is probe.Run that counts.
func countRuns(n *int) runFunc {
	var mu sync.Mutex
	return func(ctx context.Context, spec probe.Spec) (*probe.Result, error) {
		mu.Lock()
		*n++
		mu.Unlock()
		return probe.Run(ctx, spec)
	}
}

// failRun runs nothing.
func failRun(err error) runFunc {
	return func(context.Context, probe.Spec) (*probe.Result, error) { return nil, err }
}

// answerRun runs nothing and answers with output.
func answerRun(stdout string) runFunc {
	return func(context.Context, probe.Spec) (*probe.Result, error) {
		zero := 0
		return &probe.Result{Outcome: probe.Exited, ExitCode: &zero, Stdout: []byte(stdout)}, nil
	}
}
