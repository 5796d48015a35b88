package probe

// hostEngine returns the engine of this host and why it is not the tracer.
// Whether ptrace is refused is found out by using it.
func hostEngine() (engine, string) { return tracerEngine{}, "" }

func (portableEngine) properties(j *job) []PropertyStatus {
	return portableProperties(j.network, true, j.spaces...)
}

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

// properties says what the tracer enforces for j. A plan that cannot be made is
// reported when it is made for the run itself.
func (tracerEngine) properties(j *job) []PropertyStatus {
	p := &plan{job: j, landlock: landlock{abi: landlockVersion(), ruleset: -1}, spaces: newNamespaces(j.spaces)}
	if filtersAvailable() {
		p.filter = systemCallFilter(j.network, p.spaces.clones()...)
	}
	return p.properties()
}
