package probe

import "context"

// HostCapabilities reports what this host can enforce and measure. It starts
// nothing.
func HostCapabilities(context.Context) Report {
	const why = "the tracer is built for Linux"
	return Report{
		Engine: EnginePortable, EngineReason: why, Properties: portableEngine{}.properties(&job{spaces: allNamespaces()}),
		Limits: capabilities(portableLimits(Limits{}), false),
		Figures: []Capability{
			{Name: "wall", Can: true, Exact: true, Method: "from the start that succeeded to the program's end"},
			{Name: "cpu", Can: true, Method: "rusage of the program and the children it waited for"},
			{Name: "memory_process", Can: true, Method: "rusage ru_maxrss"},
			{Name: "memory_tree", Reason: "this host's processes are not sampled"},
			{Name: "processes", Can: true, Method: "found by searching: a lower bound"},
			{Name: "executed", Reason: why},
			{Name: "observed", Reason: why},
			{Name: "expectation", Can: true, Method: "the path, before and after the start"},
		},
	}
}
