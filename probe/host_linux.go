package probe

import (
	"context"
	"errors"
	"syscall"
)

// HostCapabilities reports what this host can enforce and measure. It executes
// no program: whether ptrace is permitted is found by a child that asks to be
// traced and then fails to execute a file that does not exist.
func HostCapabilities(ctx context.Context) Report {
	j := &job{stop: &stopper{}}
	if err := tracePermitted(ctx); err != nil {
		r := Report{
			Engine: EnginePortable, EngineReason: err.Error(),
			Properties: portableEngine{}.properties(&job{spaces: allNamespaces()}),
			Limits:     capabilities(portableLimits(Limits{}), false),
			Figures:    portableFigures(),
		}
		groupCapabilities(&r)
		return r
	}
	return Report{
		Engine: EngineTracer, Properties: append(tracerEngine{}.properties(j), namespaceCapabilities()...),
		Limits: capabilities(tracerLimits(Limits{}), true), Figures: tracerFigures(),
	}
}

// tracePermitted returns errTraceRefused when this host refuses ptrace.
func tracePermitted(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	refused := make(chan bool, 1)
	go onFreshThread(func() { refused <- traceRefused() })
	if <-refused {
		return errTraceRefused
	}
	return nil
}

// traceRefused reports whether this host refuses ptrace: a child asks to be
// traced, and if it may, fails to execute a file that does not exist.
func traceRefused() bool {
	attr := &syscall.ProcAttr{Sys: &syscall.SysProcAttr{Ptrace: true}}
	_, err := syscall.ForkExec("/proc/self/no-such-file", []string{"none"}, attr)
	return errors.Is(err, syscall.EPERM)
}

func tracerFigures() []Capability {
	return []Capability{
		{Name: "wall", Can: true, Exact: true, Method: "from the start that succeeded to the program's end"},
		{Name: "cpu", Can: true, Exact: true, Method: "rusage and CPU clocks of every process"},
		{Name: "memory_process", Can: true, Exact: true, Method: "VmHWM at the exit stop of each process"},
		{Name: "memory_tree", Can: true, Method: "sum of Pss, sampled every 10 ms"},
		{Name: "processes", Can: true, Exact: true, Method: "counted by the tracer"},
		{Name: "executed", Can: true, Exact: true, Method: "each exec stop"},
		observedFigure(),
		{Name: "expectation", Can: true, Exact: true, Method: "the image, before its first instruction"},
	}
}

func portableFigures() []Capability {
	return []Capability{
		{Name: "wall", Can: true, Exact: true, Method: "from the start that succeeded to the program's end"},
		{Name: "cpu", Can: true, Method: "rusage of the program and the children it waited for"},
		{Name: "memory_process", Can: true, Method: "ru_maxrss where it is above the host's own peak, else VmHWM, sampled"},
		{Name: "memory_tree", Can: true, Method: "sum of Pss, sampled every 20 ms"},
		{Name: "processes", Can: true, Method: "found by searching: a lower bound"},
		{Name: "executed", Reason: errTraceRefused.Error()},
		{Name: "observed", Reason: errTraceRefused.Error()},
		{Name: "expectation", Can: true, Method: "the path, before and after the start"},
	}
}
