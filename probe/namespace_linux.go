package probe

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// namespaces is how the namespaces of one run are made.
//
// They are flags of the clone that makes the program's process, so that each
// attempt has fresh ones; only root's mount namespace is made by the forker
// first, since its mounts must be cut off from the host's before there is a
// child. A user namespace, without which an ordinary user has none of the others,
// costs a fork that copies the host's page tables where a start otherwise borrows
// them (vfork), because Go makes one only so.
//
// The forker is restricted before the clone, as ever. Its filter then has to let
// these very flags pass, and so lets the program pass them as well: without a
// user namespace the kernel refuses them to a program without capabilities, and
// with one the tracer kills what came to be in another before it runs.
type namespaces struct {
	asked []Namespace
	user  bool   // there is a user namespace, asked for or needed
	inode uint64 // of that namespace, once there is one
}

func newNamespaces(asked []Namespace) namespaces {
	user := slices.Contains(asked, NamespaceUser)
	if len(asked) > 0 && !user {
		user = !administers()
	}
	return namespaces{asked: asked, user: user}
}

// administers reports whether this thread may make namespaces of all kinds.
func administers() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	err := unix.Capget(&header, &data[0])
	return err == nil && data[0].Effective&(1<<unix.CAP_SYS_ADMIN) != 0
}

// kernel is a namespace's flag and its name below /proc/PID/ns.
func (n Namespace) kernel() (flag uintptr, file string) {
	switch n {
	case NamespaceUser:
		return unix.CLONE_NEWUSER, "user"
	case NamespaceNetwork:
		return unix.CLONE_NEWNET, "net"
	case NamespacePID:
		return unix.CLONE_NEWPID, "pid"
	case NamespaceMount:
		return unix.CLONE_NEWNS, "mnt"
	case NamespaceIPC:
		return unix.CLONE_NEWIPC, "ipc"
	case NamespaceUTS:
		return unix.CLONE_NEWUTS, "uts"
	}
	return 0, ""
}

// has reports whether a namespace was asked for.
func (s *namespaces) has(n Namespace) bool { return slices.Contains(s.asked, n) }

// flags are those of the clone.
func (s *namespaces) flags() uintptr {
	var flags uintptr
	for _, n := range s.asked {
		if flag, _ := n.kernel(); n != NamespaceMount || s.user {
			flags |= flag
		}
	}
	if s.user {
		flags |= unix.CLONE_NEWUSER
	}
	return flags
}

// clones are the whole first arguments of the forker's clone, for the filter.
func (s *namespaces) clones() []uint32 {
	flags := uint32(s.flags()) //nolint:gosec // the kernel's flags have 32 bits
	switch {
	case flags == 0:
		return nil
	case s.user:
		return []uint32{flags | unix.CLONE_PIDFD | uint32(unix.SIGCHLD)}
	}
	return []uint32{flags | unix.CLONE_PIDFD | unix.CLONE_VFORK | unix.CLONE_VM | uint32(unix.SIGCHLD)}
}

// enter makes what the forker itself must make, before it is restricted.
func (s *namespaces) enter() error {
	if !s.has(NamespaceMount) || s.user {
		return nil
	}
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return s.refused(err)
	}
	if err := unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return s.refused(err)
	}
	return nil
}

// refused is the error of a host that makes no such namespaces.
func (s *namespaces) refused(err error) error {
	why := error(reason("the kernel refuses them"))
	if s.user && !s.has(NamespaceUser) {
		why = reason("this user may make them only within a user namespace, which the kernel refuses")
	}
	return &Error{Code: CodeNamespace, Op: "make namespaces of its own:", Path: fmt.Sprint(s.asked), Err: fmt.Errorf("%w: %w", why, err)}
}

// try starts nothing in the namespaces of the clone: a child that fails to
// execute a file that does not exist. The error is not nil when they were refused.
func (s *namespaces) try() error {
	handle := -1
	attr := &syscall.ProcAttr{Sys: &syscall.SysProcAttr{Cloneflags: s.flags(), PidFD: &handle}}
	_, err := syscall.ForkExec("/proc/self/no-such-file", []string{"none"}, attr)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	return s.refused(err)
}

// settle finishes the namespaces of a child that has not run yet, and makes sure
// that they are there.
//
// Numbers of users and groups are the same within and without. They are given
// after the exec, so that the exec left the child no capability in its
// namespace: a process without a number has none to keep.
func (s *namespaces) settle(pid int) error {
	if s.user {
		err := mapOwners(pid)
		if err == nil {
			s.inode, err = namespaceOf(pid, "user")
		}
		if err != nil {
			return s.refused(err)
		}
	}
	for _, n := range s.asked {
		_, file := n.kernel()
		own, err := namespaceOf(os.Getpid(), file)
		if err != nil {
			return s.refused(err)
		}
		if its, err := namespaceOf(pid, file); err != nil || its == own {
			return s.refused(errors.Join(err, reason("the program would be in the host's own "+string(n)+" namespace")))
		}
	}
	return nil
}

// mapOwners gives the child of a new user namespace this process's user and
// group, under the same numbers.
func mapOwners(pid int) error {
	for _, m := range []struct {
		file, value string
	}{
		{"setgroups", "deny"},
		{"uid_map", identityMap(unix.Geteuid())},
		{"gid_map", identityMap(unix.Getegid())},
	} {
		file, err := os.OpenFile(procPath(pid, m.file), os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = file.WriteString(m.value)
		if err = errors.Join(err, file.Close()); err != nil {
			return err
		}
	}
	return nil
}

func identityMap(id int) string { return strconv.Itoa(id) + " " + strconv.Itoa(id) + " 1" }

// namespaceOf returns the inode of a process's namespace, which names it.
func namespaceOf(pid int, file string) (uint64, error) {
	var st unix.Stat_t
	err := unix.Stat(procPath(pid, "ns/"+file), &st)
	return st.Ino, err
}

// strayed reports whether the process pid, which has not run yet, is in another
// user namespace than the program: then it has capabilities there.
func (s *namespaces) strayed(pid int) bool {
	if !s.user {
		return false
	}
	its, err := namespaceOf(pid, "user")
	return err == nil && its != s.inode // an error is that of one that is gone
}

// properties says how each namespace is made.
func (s *namespaces) properties() []PropertyStatus {
	var all []PropertyStatus
	for _, n := range s.asked {
		method := "clone: " + n.gives()
		switch {
		case n == NamespaceMount && !s.user:
			method = "unshare: " + n.gives()
		case s.user && n != NamespaceUser:
			method += ", owned by a user namespace of the run"
		}
		all = append(all, PropertyStatus{Property: n.property(), Enforced: true, Method: method})
	}
	return all
}

// privileges is why executing a file gives the program none.
func (s *namespaces) privileges() string {
	if s.user {
		return "no_new_privs; no capability in the run's user namespace, and none of the host's is in its reach"
	}
	return "no_new_privs; the bounding set is empty for root"
}

// gives says what the program finds in the namespace.
func (n Namespace) gives() string {
	switch n {
	case NamespaceUser:
		return "one user and one group, under the same numbers, without capabilities; a process in a further one is killed before it runs"
	case NamespaceNetwork:
		return "a loopback interface that is down"
	case NamespacePID:
		return "the program is process 1; /proc is the host's"
	case NamespaceMount:
		return "no mount is passed on to the host"
	case NamespaceIPC:
		return "no object of the host"
	case NamespaceUTS:
		return "a name of its own, as the host's was"
	}
	return ""
}

// namespaceCapabilities says of each namespace by itself whether it can be made
// here. Children are made for that, which execute nothing.
func namespaceCapabilities() []PropertyStatus {
	var all []PropertyStatus
	for _, n := range allNamespaces() {
		result := make(chan PropertyStatus, 1)
		go onFreshThread(func() {
			s := newNamespaces([]Namespace{n})
			status := s.properties()[0]
			err := s.enter()
			if err == nil {
				err = s.try()
			}
			if err != nil {
				status = PropertyStatus{Property: n.property(), Reason: err.Error()}
			}
			result <- status
		})
		all = append(all, <-result)
	}
	return all
}
