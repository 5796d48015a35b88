package probe

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	hybridCgroup = "9:name=systemd:/\n8:pids:/a/b\n4:memory:/a/b\n2:cpu,cpuacct:/\n0::/u:v\n"
	hybridMounts = `23 1 0:21 / /proc rw - proc proc rw
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
33 31 0:30 / /sys/fs/cgroup/cpu rw,relatime shared:3 master:1 - cgroup cgroup rw,cpu,cpuacct
39 31 0:37 /a /sys/fs/cgroup/pids\040x rw,relatime - cgroup cgroup rw,pids
36 31 0:34 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
44 31 0:34 / /second/memory rw,relatime - cgroup cgroup rw,memory
40 31 0:38 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd
41 31 0:39 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
`
)

func TestLocate(t *testing.T) {
	got := locate(parseCgroup([]byte(hybridCgroup)), parseMounts([]byte(hybridMounts)))
	want := []hierarchy{
		{own: "/sys/fs/cgroup/cpu", top: true, controllers: []string{"cpuacct"}},
		{own: "/sys/fs/cgroup/pids x/b", controllers: []string{"pids"}},
		{own: "/sys/fs/cgroup/memory/a/b", controllers: []string{"memory"}},
		{own: "/sys/fs/cgroup/unified/u:v", unified: true},
	}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(hierarchy{})); d != "" {
		t.Errorf("hierarchies (-want +got):\n%s", d)
	}
	// What lies outside of the mount or the namespace is not found.
	for _, outside := range []string{"0::/../x\n", "0::/other\n", "0::/inner2\n", "0:pids:/inner\n", ""} {
		mount := []cgroupMount{{root: "/inner", point: "/m", unified: true}}
		if got := locate(parseCgroup([]byte(outside)), mount); len(got) != 0 {
			t.Errorf("%q gives %+v", outside, got)
		}
	}
	if got := locate(map[string]string{"": "/../x"}, []cgroupMount{{root: "/", point: "/m", unified: true}}); len(got) != 0 {
		t.Errorf("a group outside of the namespace gives %+v", got)
	}
	inner := locate(map[string]string{"": "/inner"}, []cgroupMount{{root: "/inner", point: "/m", unified: true}})
	if len(inner) != 1 || inner[0].own != "/m" || !inner[0].top {
		t.Errorf("a container's own group is %+v", inner)
	}
}

func FuzzLocate(f *testing.F) {
	f.Add([]byte(hybridCgroup), []byte(hybridMounts))
	f.Add([]byte("0::/..\n"), []byte("41 31 0:39 / /m\\057.. rw - cgroup2 cgroup2 rw\n"))
	f.Fuzz(func(t *testing.T, groups, mounts []byte) {
		parsed := parseMounts(mounts)
		for _, h := range locate(parseCgroup(groups), parsed) {
			below := slices.ContainsFunc(parsed, func(m cgroupMount) bool {
				rel, err := filepath.Rel(filepath.Clean(m.point), h.own)
				return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
			})
			if !below || !h.unified && len(h.controllers) == 0 {
				t.Fatalf("%+v is below no mount of %+v", h, parsed)
			}
		}
	})
}

func TestKeyed(t *testing.T) {
	const events = "low 1\noom_kill 3\nmax x\nbad\nneg -1\n"
	for key, want := range map[string]int64{"low": 1, "oom_kill": 3} {
		if n, ok := keyedIn(events, key); !ok || n != want {
			t.Errorf("%s is %d, %v", key, n, ok)
		}
	}
	for _, key := range []string{"max", "bad", "neg", "none", ""} {
		if n, ok := keyedIn(events, key); ok {
			t.Errorf("%s is %d", key, n)
		}
	}
}

func FuzzKeyed(f *testing.F) {
	f.Add("oom_kill 3\n", "oom_kill")
	f.Add("a 1\na 2", "a")
	f.Fuzz(func(t *testing.T, lines, key string) {
		// A key with a blank or a line break of its own is never found.
		if n, ok := keyedIn(lines, key); ok {
			if back, ok := keyedIn(fmt.Sprintf("%s %d\n", key, n), key); !ok || back != n {
				t.Fatalf("%q: %d comes back as %d", key, n, back)
			}
		}
	})
}

// fakeGroup is a directory with the files of a group, which a kernel would make.
func fakeGroup(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, value := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(value), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// wrote checks the files of a fake group.
func wrote(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	for name, value := range want {
		if got := text(dir, name); got != value {
			t.Errorf("%s is %q, want %q", name, got, value)
		}
	}
}

func TestUnifiedGroupFiles(t *testing.T) {
	dir := fakeGroup(t, map[string]string{
		"cgroup.procs": fmt.Sprintf("0\n%d\n1073741823\n", os.Getpid()), "cgroup.kill": "", "pids.max": "max", "memory.max": "max",
		"memory.swap.max": "max", "memory.oom.group": "0", "memory.events": "low 0\noom 1\noom_kill 1\n", "pids.events": "max 2\n",
		"memory.peak": "4096\n", "cpu.stat": "usage_usec 30\nuser_usec 10\nsystem_usec 20\n",
	})
	g := &group{unified: dir, fd: -1, set: map[string]bool{}}
	if !strings.Contains(g.method(), "cgroup.kill") {
		t.Errorf("the method is %q", g.method())
	}
	g.limit(Limits{Processes: 3, Memory: 1 << 20})
	wrote(t, dir, map[string]string{"pids.max": "48", "memory.max": "1048576", "memory.swap.max": "0", "memory.oom.group": "1"})
	if f := g.exceeded(); !f.memory || !f.processes {
		t.Errorf("exceeded is %+v", f)
	}
	u := g.usage()
	if u.user != 10_000 || u.system != 20_000 || u.memory != 4096 || u.cpuMethod == "" || u.memoryMethod == "" {
		t.Errorf("usage is %+v", u)
	}
	// This process and those of other namespaces are not the group's to kill.
	if d := cmp.Diff([]int{1073741823}, g.processes()); d != "" {
		t.Errorf("processes: %s", d)
	}
	if !g.kill() {
		t.Error("nobody was there to kill")
	}
	wrote(t, dir, map[string]string{"cgroup.kill": "1", "pids.max": "48"})

	// Without cgroup.kill it is frozen, and thawed again.
	if err := os.Remove(filepath.Join(dir, "cgroup.kill")); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"cgroup.freeze": "0", "cgroup.events": "populated 1\nfrozen 1\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(value), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	thaw := g.freeze()
	wrote(t, dir, map[string]string{"cgroup.freeze": "1"})
	thaw()
	g.kill()
	wrote(t, dir, map[string]string{"cgroup.freeze": "0", "pids.max": "0"})
}

func TestOldGroupFiles(t *testing.T) {
	pids := fakeGroup(t, map[string]string{"cgroup.procs": "1073741823\n", "pids.max": "max", "pids.events": "max 0\n"})
	memory := fakeGroup(t, map[string]string{
		"cgroup.procs": "", "memory.limit_in_bytes": "9", "memory.memsw.limit_in_bytes": "9",
		"memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n", "memory.max_usage_in_bytes": "8192",
	})
	cpu := fakeGroup(t, map[string]string{"cgroup.procs": "", "cpuacct.usage": "120\n", "cpuacct.usage_user": "5\n", "cpuacct.usage_sys": "7\n"})
	freezer := fakeGroup(t, map[string]string{"cgroup.procs": "", "freezer.state": "THAWED"})
	g := &group{fd: -1, set: map[string]bool{}, old: map[string]string{"pids": pids, "memory": memory, "cpuacct": cpu, "freezer": freezer}}
	g.limit(Limits{Processes: 3, Memory: 1 << 20})
	wrote(t, pids, map[string]string{"pids.max": "49"})
	wrote(t, memory, map[string]string{"memory.limit_in_bytes": "1048576", "memory.memsw.limit_in_bytes": "1048576"})
	if f := g.exceeded(); !f.memory || f.processes {
		t.Errorf("exceeded is %+v", f)
	}
	if u := g.usage(); u.user != 50 || u.system != 70 || u.memory != 8192 {
		t.Errorf("usage is %+v", u)
	}
	begin := time.Now()
	g.kill()
	if d := time.Since(begin); d > 5*time.Second {
		t.Errorf("killing took %v although nothing froze or thawed", d)
	}
	wrote(t, pids, map[string]string{"pids.max": "0"})
	wrote(t, freezer, map[string]string{"freezer.state": "THAWED"})

	// Nothing is claimed that could not be set.
	empty := &group{fd: -1, set: map[string]bool{}, old: map[string]string{"pids": t.TempDir(), "memory": t.TempDir()}}
	empty.limit(Limits{Processes: 3, Memory: 1 << 20})
	if empty.set["pids"] || empty.set["memory"] || empty.exceeded() != (facts{}) || empty.usage() != (groupUsage{}) {
		t.Errorf("an empty group sets %v, exceeds %+v, uses %+v", empty.set, empty.exceeded(), empty.usage())
	}
}

// TestNoGroup checks the nil group, which is that of a host that gives none.
func TestNoGroup(t *testing.T) {
	var g *group
	if g.kill() || g.remove() != nil || g.method() != "" || g.processes() != nil || g.exceeded() != (facts{}) || g.usage() != (groupUsage{}) {
		t.Error("no group did something")
	}
	if g, why := makeGroup(nil); g != nil || why == "" {
		t.Errorf("a group where none is mounted: %+v, %q", g, why)
	}
	seen := observed{isolation: portableProperties(NetworkDeny, true), limits: portableLimits(Limits{})}
	g.describe(&seen, "because")
	for _, p := range seen.isolation {
		if p.Property == PropertyProcesses && (p.Enforced || !strings.HasSuffix(p.Reason, "because")) {
			t.Errorf("processes: %+v", p)
		}
	}
}

func TestLimitsOfTheOwnGroup(t *testing.T) {
	for value, want := range map[string]bool{"max": true, "max 100000": true, "4096": false, "50000 100000": false} {
		if got := unlimited(fakeGroup(t, map[string]string{"cpu.max": value})); got != want {
			t.Errorf("%q unlimited: %v", value, got)
		}
	}
}

// TestDelegated checks that root takes no group that belongs to a manager.
func TestDelegated(t *testing.T) {
	dir := fakeGroup(t, map[string]string{"cgroup.procs": ""})
	ordinary := os.Geteuid() != 0
	if !delegated(dir, true) || delegated(dir, false) != ordinary || delegated(t.TempDir(), true) {
		t.Errorf("top %v, below %v, no group %v", delegated(dir, true), delegated(dir, false), delegated(t.TempDir(), true))
	}
	inner := hierarchy{own: dir}
	if got := inner.parents(); (len(got) == 1) != ordinary {
		t.Errorf("a group may be made in %v", got)
	}
}

// TestStaleGroupsAreRemoved leaves groups as a killed host does.
func TestStaleGroupsAreRemoved(t *testing.T) {
	parent := t.TempDir()
	const dead = 1 << 30      // above every process number
	names := map[string]bool{ // whether it stays
		fmt.Sprintf("%s%d-1", groupName, dead): false, fmt.Sprintf("%s%d-1", groupName, os.Getpid()): true,
		groupName + "x-1": true, groupName + "0-1": true, fmt.Sprintf("other-%d-1", dead): true,
	}
	for name := range names {
		if err := os.Mkdir(filepath.Join(parent, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	removeStale(parent, time.Now())
	if all, _ := os.ReadDir(parent); len(all) != len(names) {
		t.Errorf("%d of %d new groups stayed", len(all), len(names))
	}
	removeStale(parent, time.Now().Add(2*groupStale))
	for name, stays := range names {
		if exists(filepath.Join(parent, name)) != stays {
			t.Errorf("%s stays: %v", name, !stays)
		}
	}
}
