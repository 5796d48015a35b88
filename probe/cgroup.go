//go:build linux || darwin

package probe

// A run of the portable engine is put into a control group (cgroup) of its own
// where this process may make one. The group holds whatever the program starts,
// however it forks, so that it is found, counted, measured and killed by the
// kernel and not by a search. It is no cage: a program has the rights of the host
// process, and what may make a group may also leave one, so that the search
// stays, and the group alone makes no property enforced.

// groupHeld is what is said of descendants that a group holds. %s is its method.
const groupHeld = "descendants are held and killed by %s; a program that leaves it, as one with the host's rights can, is found by searching alone"

// groupUsage is what a group's own accounts say; a method is empty where there
// is no figure.
type groupUsage struct {
	cpuMethod    string
	user, system int64 // nanoseconds
	memoryMethod string
	memory       int64 // bytes, the most at once
}
