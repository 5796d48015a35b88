package probe

import (
	"fmt"
	"slices"
)

// Namespace names one of the kernel's namespaces (namespaces(7)), of which a run
// can be given one of its own. None is by default: restrictions of the thread do
// the same work for less.
type Namespace string

// The namespaces.
//
// In a pid namespace the program is its process 1 and nothing is put in between,
// which changes two things. A signal that it does not handle does nothing to it
// when it comes from within, so that `kill -TERM $$` is without effect and a
// write to a closed pipe only fails; faults, and what the host sends, end it as
// ever. And orphans become its children: one that does not wait for them leaves
// zombies until it ends, when the kernel ends all others. /proc stays the host's,
// with the host's numbers.
const (
	NamespaceUser    Namespace = "user"    // users and groups: its own alone, under the same numbers, and no privilege
	NamespaceNetwork Namespace = "network" // a loopback interface that is down, and nothing else
	NamespacePID     Namespace = "pid"     // process numbers: no other process can be named
	NamespaceMount   Namespace = "mount"   // mounts: none that is made within is seen outside
	NamespaceIPC     Namespace = "ipc"     // System V and POSIX message queues, semaphores, shared memory
	NamespaceUTS     Namespace = "uts"     // the host's name
)

// allNamespaces are all that can be asked for.
func allNamespaces() []Namespace {
	return []Namespace{NamespaceUser, NamespaceNetwork, NamespacePID, NamespaceMount, NamespaceIPC, NamespaceUTS}
}

// property is what a result says of the namespace.
func (n Namespace) property() Property { return Property("namespace:" + string(n)) }

// checkNamespaces refuses an unknown and a repeated namespace.
func checkNamespaces(asked []Namespace) error {
	for i, n := range asked {
		var err error
		switch {
		case !slices.Contains(allNamespaces(), n):
			err = fmt.Errorf("%.64q is no namespace", string(n))
		case slices.Contains(asked[:i], n):
			err = fmt.Errorf("%s is asked for twice", n)
		}
		if err != nil {
			return &Error{Code: CodeBadIsolation, Op: "check isolation", Path: "Namespaces", Err: err}
		}
	}
	return nil
}

// noNamespaces is what is said of them where they cannot be made.
func noNamespaces(asked []Namespace, why string) []PropertyStatus {
	var all []PropertyStatus
	for _, n := range asked {
		all = append(all, PropertyStatus{Property: n.property(), Reason: why})
	}
	return all
}

// namespacesMade refuses a run of which a namespace would not be made: it was
// asked for by name, and what runs without it is not what was asked for.
func namespacesMade(have []PropertyStatus, asked []Namespace) error {
	for _, n := range asked {
		i := slices.IndexFunc(have, func(s PropertyStatus) bool { return s.Property == n.property() })
		why := "this host's engine does not know it"
		if i >= 0 {
			why = have[i].Reason
		}
		if i < 0 || !have[i].Enforced {
			return &Error{Code: CodeNamespace, Op: "make a namespace of its own:", Path: string(n), Err: reason(why)}
		}
	}
	return nil
}
