package probe

// Report is what this host can enforce and measure, for `doctor`.
type Report struct {
	Engine       string           `json:"engine"`        // the engine that Run would use
	EngineReason string           `json:"engine_reason"` // why it is not the tracer; empty when it is
	Properties   []PropertyStatus `json:"properties"`
	Limits       []Capability     `json:"limits"`
	Figures      []Capability     `json:"figures"`
}

// Capability is one limit or figure and how this host does it.
type Capability struct {
	Name   string `json:"name"`
	Can    bool   `json:"can"`
	Exact  bool   `json:"exact"` // false: sampled, or approximate as Method says
	Method string `json:"method,omitempty"`
	Reason string `json:"reason,omitempty"` // why not
}

// capabilities turns limit statuses into capabilities. exact says that the
// engine that enforces them misses nothing but what lies between two samples.
func capabilities(limits []LimitStatus, exact bool) []Capability {
	all := make([]Capability, 0, len(limits))
	for _, l := range limits {
		sampled := l.Limit == "memory" || l.Limit == "cpu"
		stream := l.Limit == "stdout" || l.Limit == "stderr"
		all = append(all, Capability{
			Name: l.Limit, Can: l.Enforced, Exact: l.Enforced && (stream || exact && !sampled), Method: l.Method, Reason: l.Reason,
		})
	}
	return all
}
