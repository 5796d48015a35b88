package probe

// notRestricted is why the portable engine enforces nothing that needs a
// restricted thread.
const notRestricted = "restrictions are put on the tracer's thread, and the portable engine has none"

// portableProperties says what the portable engine enforces.
func portableProperties(network NetworkPolicy, memory bool, spaces ...Namespace) []PropertyStatus {
	all := []PropertyStatus{{Property: PropertyNetwork, Reason: notRestricted}}
	if network == NetworkAllow {
		all[0].Reason = networkAllowed
	}
	limited := PropertyStatus{Property: PropertyMemory, Enforced: memory, Method: "the tree is sampled and killed above the limit"}
	if !memory {
		limited.Method, limited.Reason = "", "this host's processes are not sampled"
	}
	all = append(all,
		PropertyStatus{Property: PropertyWrites, Reason: notRestricted},
		PropertyStatus{
			Property: PropertyProcesses,
			Reason:   "descendants are found by searching; one that hides between two searches is not found",
		},
		limited,
		PropertyStatus{Property: PropertyReads, Reason: notRestricted},
		PropertyStatus{Property: PropertyPrivileges, Reason: notRestricted},
		PropertyStatus{Property: PropertyHost, Reason: notRestricted},
		PropertyStatus{Property: PropertySignals, Reason: notRestricted},
		PropertyStatus{Property: PropertySyscalls, Reason: notRestricted},
	)
	return append(all, noNamespaces(spaces, "namespaces are made by the tracer, and the portable engine ran")...)
}

// networkAllowed is why the network is not denied.
const networkAllowed = "the network is allowed"

// portableLimits says how the portable engine enforces the limits.
func portableLimits(l Limits) []LimitStatus {
	const sampled = "sampled; descendants are found by searching"
	return l.statuses(map[string]string{
		"wall": "timer, then SIGKILL to all that is found", "cpu": sampled, "memory": sampled, "processes": sampled,
		"stdout": methodStream, "stderr": methodStream,
	}, "the portable engine cannot stop the program before its first instruction to set it")
}

const methodStream = "reading stops at the limit"
