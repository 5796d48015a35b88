package probe

import "fmt"

// describe puts into a result what the group does for the run, or why there is
// none.
func (g *group) describe(seen *observed, why string) {
	for i := range seen.isolation {
		p := &seen.isolation[i]
		switch {
		case p.Property == PropertyProcesses && g == nil:
			p.Reason += "; there is no cgroup to hold it: " + why
		case p.Property == PropertyProcesses:
			p.Reason = fmt.Sprintf(groupHeld, g.method())
		case p.Property == PropertyMemory && g != nil && g.set["memory"]:
			p.Method = "the kernel limits the run's cgroup; " + p.Method
		}
	}
	if g == nil {
		return
	}
	for i := range seen.limits {
		l := &seen.limits[i]
		switch {
		case l.Limit == "wall":
			l.Method = "timer, then SIGKILL to all in " + g.method() + " and all that is found"
		case l.Limit == "cpu" && g.usage().cpuMethod != "":
			l.Method = g.usage().cpuMethod + ", sampled and at the end"
		case l.Limit == "memory" && g.set["memory"]:
			l.Method = "set on the run's cgroup, and " + l.Method
		case l.Limit == "processes":
			l.Method = "those in the run's cgroup and those found, sampled"
			if g.set["pids"] {
				l.Method += "; its tasks (16 times as many) by pids.max"
			}
		}
	}
}

// groupCapabilities puts into the report of a host without ptrace what a group
// does there, and what none can be made for. It makes a group and removes it.
func groupCapabilities(r *Report) {
	g, why := newGroup(Limits{Processes: maxProcesses, Memory: maxBytes})
	seen := observed{isolation: r.Properties, limits: portableLimits(Limits{})}
	g.describe(&seen, why)
	if g == nil {
		r.Figures = append(r.Figures, Capability{Name: "cgroup", Reason: why})
		return
	}
	u := g.usage()
	r.Limits = capabilities(seen.limits, false)
	for i := range r.Figures {
		f := &r.Figures[i]
		switch {
		case f.Name == "cpu" && u.cpuMethod != "":
			f.Exact, f.Method = g.unified != "", u.cpuMethod // version 1 counts the start as well
		case f.Name == "memory_tree" && u.memoryMethod != "":
			f.Exact, f.Method = true, u.memoryMethod
		}
	}
	if err := g.remove(); err != nil {
		why = err.Error()
	}
	r.Figures = append(r.Figures, Capability{Name: "cgroup", Can: true, Exact: true, Method: "every run is put into " + g.method(), Reason: why})
}
