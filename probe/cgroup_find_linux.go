package probe

import (
	"bytes"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// hierarchy is one mounted hierarchy of control groups.
type hierarchy struct {
	own         string   // directory of this process's group
	top         bool     // own is all that is mounted here
	unified     bool     // version 2
	controllers []string // version 1: what it controls
}

// cgroupMount is one line of mountinfo that is of control groups.
type cgroupMount struct {
	root, point string
	unified     bool
	options     []string
}

// parseCgroup reads /proc/PID/cgroup (cgroups(7)): lines of number, controllers
// and group. It returns the group by each controller's name; that of version 2
// has the empty name.
func parseCgroup(text []byte) map[string]string {
	groups := map[string]string{}
	for line := range strings.Lines(string(text)) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(fields) != 3 || !strings.HasPrefix(fields[2], "/") {
			continue
		}
		for name := range strings.SplitSeq(fields[1], ",") {
			groups[name] = fields[2]
		}
	}
	return groups
}

// parseMounts reads the lines of /proc/PID/mountinfo (proc(5)) that are of
// control groups.
func parseMounts(text []byte) []cgroupMount {
	var mounts []cgroupMount
	for line := range strings.Lines(string(text)) {
		// The optional fields, of which there are any number, end with a hyphen.
		head, tail, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " - ")
		first, last := strings.Fields(head), strings.Fields(tail)
		if !ok || len(first) < 6 || len(last) < 3 || last[0] != "cgroup" && last[0] != "cgroup2" {
			continue
		}
		mounts = append(mounts, cgroupMount{
			root: unescapeMount(first[3]), point: unescapeMount(first[4]), unified: last[0] == "cgroup2",
			options: strings.Split(last[2], ","),
		})
	}
	return mounts
}

// unescapeMount replaces the octal escapes of mountinfo, such as \040.
func unescapeMount(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+4 <= len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// locate returns the hierarchies in which this process's own group can be seen,
// each once: the one of version 2, and those of the controllers of version 1
// that a run can use.
func locate(groups map[string]string, mounts []cgroupMount) []hierarchy {
	var all []hierarchy
	for _, m := range mounts {
		h := hierarchy{unified: m.unified}
		name := ""
		if !m.unified {
			for _, c := range []string{"memory", "pids", "cpuacct", "freezer"} {
				if slices.Contains(m.options, c) {
					h.controllers = append(h.controllers, c)
				}
			}
			if len(h.controllers) == 0 {
				continue
			}
			name = h.controllers[0]
		}
		group, ok := groups[name]
		if !ok {
			continue
		}
		// A group outside of what is mounted, or of the namespace (/../x), has no
		// directory here.
		rest, inside := strings.CutPrefix(group, strings.TrimSuffix(m.root, "/"))
		if !inside || rest != "" && rest[0] != '/' || slices.Contains(strings.Split(rest, "/"), "..") {
			continue
		}
		h.own, h.top = path.Join(m.point, rest), strings.Trim(rest, "/") == ""
		same := func(o hierarchy) bool { return o.unified == h.unified && slices.Equal(o.controllers, h.controllers) }
		if !slices.ContainsFunc(all, same) {
			all = append(all, h)
		}
	}
	return all
}

// delegated reports whether groups may be made in dir, which top says is all
// that is mounted. An ordinary user may where it may write. To root everything is
// writable, and most groups belong to a service manager, which would not know of
// ours; so there it must be the top of what this host shows, as in a container,
// or marked as given away (systemd's Delegate=yes sets this attribute).
func delegated(dir string, top bool) bool {
	if unix.Access(dir, unix.W_OK) != nil || unix.Access(path.Join(dir, "cgroup.procs"), unix.W_OK) != nil {
		return false
	}
	return unix.Geteuid() != 0 || top || marksDelegation(dir)
}

func marksDelegation(dir string) bool {
	var value [8]byte
	for _, name := range []string{"user.delegate", "trusted.delegate"} {
		if n, err := unix.Getxattr(dir, name, value[:]); err == nil && string(value[:n]) == "1" {
			return true
		}
	}
	return false
}

// parentOf returns the directories in which the run's group of h may be made,
// the best one first.
//
// A group of version 2 that holds processes hands no controllers down, and this
// process's own does. So a group beside it comes first where the one above both
// is marked as given away, and where this process's own has no limit, which the
// program would then not be under.
func (h *hierarchy) parents() []string {
	var dirs []string
	if above := path.Dir(h.own); h.unified && !h.top && delegated(above, false) && marksDelegation(above) && unlimited(h.own) {
		dirs = append(dirs, above)
	}
	if delegated(h.own, h.top) {
		dirs = append(dirs, h.own)
	}
	return dirs
}

// unlimited reports whether the group dir of version 2 limits nothing itself.
func unlimited(dir string) bool {
	for _, name := range []string{"memory.max", "memory.high", "pids.max", "cpu.max"} {
		text, err := os.ReadFile(path.Join(dir, name))
		if err == nil && !bytes.HasPrefix(text, []byte("max")) {
			return false
		}
	}
	return true
}

// findHierarchies reads where this process is.
func findHierarchies() []hierarchy {
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	return locate(parseCgroup(groups), parseMounts(mounts))
}
