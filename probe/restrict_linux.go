package probe

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// plan is what of a job's isolation this host can enforce. It is made before
// anything starts, so that a required property that cannot be enforced is known
// then, and put on the forker's thread by restrict, which fails closed.
type plan struct {
	job      *job
	landlock landlock
	spaces   namespaces
	filter   []unix.SockFilter // empty where the kernel has no filters
	bare     bool              // restrict does nothing
	observe  []unix.SockFilter // stops before openings; empty when they are not observed
}

// newPlan finds out what this host can do for j.
func newPlan(j *job) (*plan, error) {
	p := &plan{job: j, spaces: newNamespaces(j.spaces)}
	if filtersAvailable() {
		p.filter = systemCallFilter(j.network, p.spaces.clones()...)
	}
	var err error
	p.landlock, err = newLandlock(j)
	return p, err
}

// close gives back what the plan holds open.
func (p *plan) close() { p.landlock.close() }

// restrict puts the restrictions on the calling thread, for good.
func (p *plan) restrict() error {
	if p.bare {
		return nil
	}
	steps := []struct {
		name string
		do   func() error
	}{
		{"no_new_privs", func() error { return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }},
		{"capabilities", dropCapabilities},
		{"Landlock", p.landlock.restrict},
		{"seccomp", func() error { return installFilter(p.filter) }},
		// Last: from here on this thread can open nothing itself.
		{"observation", func() error { return installFilter(p.observe) }},
	}
	for _, s := range steps {
		if err := s.do(); err != nil {
			return &Error{Code: CodeNotEnforceable, Op: "restrict the thread by", Path: s.name, Err: err}
		}
	}
	return nil
}

// dropCapabilities leaves nothing that a program executed by this thread could
// have: the bounding set, which limits what a file gives and what root gets, and
// the inheritable and ambient sets, which are passed on. The thread's own
// permitted set is needed to do this, and is lost at the exec.
//
// Landlock alone does not keep root from the host's memory: CAP_PERFMON reads
// another process's environment past it.
func dropCapabilities() error {
	const most = 63
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	for c := uintptr(0); c <= most; c++ {
		// EINVAL is above the last that this kernel has. Without CAP_SETPCAP,
		// which is EPERM, no_new_privs keeps files from giving anything.
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EPERM) {
			break
		}
		if err != nil {
			return err
		}
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return err
	}
	if data[0].Inheritable|data[1].Inheritable == 0 {
		return nil
	}
	data[0].Inheritable, data[1].Inheritable = 0, 0
	return unix.Capset(&header, &data[0])
}

// gains reports why a program that is executed could have privileges even so:
// root without CAP_SETPCAP keeps what its bounding set has. It is empty when it
// could not.
func gains() string {
	if unix.Geteuid() != 0 {
		return ""
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return err.Error()
	}
	if data[0].Effective&(1<<unix.CAP_SETPCAP) != 0 {
		return ""
	}
	for c := uintptr(0); c <= 63; c++ {
		if set, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, c, 0, 0, 0); err == nil && set == 1 {
			return fmt.Sprintf("root without CAP_SETPCAP keeps the capabilities of its bounding set, such as %d", c)
		}
	}
	return ""
}

// properties says what restrict, the limits and the tracer enforce.
func (p *plan) properties() []PropertyStatus {
	const noFilter = "this kernel has no seccomp filters"
	ll, filtered := &p.landlock, len(p.filter) > 0
	status := func(property Property, method string, why ...string) PropertyStatus {
		for _, w := range why {
			if w != "" {
				return PropertyStatus{Property: property, Reason: w}
			}
		}
		return PropertyStatus{Property: property, Enforced: true, Method: method}
	}
	unless := func(holds bool, why string) string {
		if holds {
			return ""
		}
		return why
	}
	return append([]PropertyStatus{
		status(PropertyNetwork, "seccomp: sockets other than AF_UNIX are refused"+ll.tcpMethod(),
			unless(p.job.network == NetworkDeny, networkAllowed), unless(filtered, noFilter)),
		status(PropertyWrites, ll.method()+": content and names only below scratch and what is declared; modes, owners and times of other files are not covered",
			ll.missing(landlockTruncate, "truncation")),
		status(PropertyProcesses, "every descendant is traced, counted and killed; seccomp: none can be made untraced",
			unless(filtered, noFilter+", so that a process can be made that is not traced (CLONE_UNTRACED)")),
		status(PropertyMemory, "the tree is sampled and killed above the limit"),
		status(PropertyReads, ll.method(), unless(len(p.job.read) > 0, "no limited reads were asked for"), ll.missing(1, "reads")),
		status(PropertyPrivileges, p.spaces.privileges(), gains()),
		status(PropertyHost, ll.method()+" keeps /proc and ptrace to the run's own processes; no capability, no inherited descriptor",
			ll.missing(1, "other processes"), gains()),
		status(PropertySignals, ll.method()+" scopes signals and abstract sockets", ll.missing(landlockScoped, "signals")),
		status(PropertySyscalls, "seccomp; system calls of other processor modes are refused", unless(filtered, noFilter)),
	}, p.spaces.properties()...)
}
