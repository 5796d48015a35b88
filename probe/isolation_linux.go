package probe

// hostEngine returns the engine of this host and why it is not the tracer.
// Whether ptrace is refused is found out by using it.
func hostEngine() (engine, string) { return tracerEngine{}, "" }

func (portableEngine) properties(j *job) []PropertyStatus { return portableProperties(j.network, true) }

// tracerLimits says how the tracer enforces the limits.
func tracerLimits(l Limits) []LimitStatus {
	const before = "prlimit before the first instruction"
	return l.statuses(map[string]string{
		"wall": "timer, then SIGKILL to every process", "stdout": methodStream, "stderr": methodStream,
		"cpu":       "CPU clocks of the tree, sampled every 10 ms and added up at its end; RLIMIT_CPU behind",
		"memory":    "Pss of the tree, sampled every 10 ms; VmHWM of each process at its end",
		"file_size": before + " (RLIMIT_FSIZE)", "open_files": before + " (RLIMIT_NOFILE)",
		"processes": "counted by the tracer before the first instruction of each",
	}, "")
}

// properties says what the tracer enforces for j.
func (tracerEngine) properties(j *job) []PropertyStatus {
	const unbuilt = "this version of the tracer does not restrict its thread"
	all := []PropertyStatus{{Property: PropertyNetwork, Reason: unbuilt}}
	if j.network == NetworkAllow {
		all[0].Reason = networkAllowed
	}
	all = append(all,
		PropertyStatus{Property: PropertyProcesses, Enforced: true, Method: "every descendant is traced, counted and killed"},
		PropertyStatus{Property: PropertyMemory, Enforced: true, Method: "the tree is sampled and killed above the limit"},
	)
	for _, p := range []Property{
		PropertyWrites, PropertyReads, PropertyPrivileges, PropertyHost, PropertySignals, PropertySyscalls,
	} {
		all = append(all, PropertyStatus{Property: p, Reason: unbuilt})
	}
	return all
}
