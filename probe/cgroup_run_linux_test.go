package probe

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/provider-measure/provider-measure/internal/testenv"
)

// needGroup skips where this process may make no group that wanted accepts, and
// returns what one is like here.
func needGroup(t *testing.T, bucket string, wanted func(g *group) bool) {
	t.Helper()
	g, why := newGroup(Limits{Processes: 10, Memory: 1 << 30})
	if g == nil {
		testenv.Skip(t, bucket, why)
	}
	ok := wanted(g)
	if err := g.remove(); err != nil {
		t.Fatal(err)
	}
	if !ok {
		testenv.Skip(t, bucket, "no group of this kind may be made here")
	}
}

// anyGroup is content with every group that kills.
func anyGroup(*group) bool { return true }

// noGroupsLeft fails when a group of this process's runs is left.
func noGroupsLeft(t *testing.T) {
	t.Helper()
	for _, h := range findHierarchies() {
		if left, _ := filepath.Glob(filepath.Join(h.own, fmt.Sprintf("provider-measure-%d-*", os.Getpid()))); len(left) > 0 {
			t.Errorf("groups are left: %v", left)
		}
	}
}

// TestGroupHoldsWhatSearchMisses runs programs that hide from a search.
func TestGroupHoldsWhatSearchMisses(t *testing.T) {
	need(t, "setsid")
	needGroup(t, "cgroup2", anyGroup)
	for name, script := range hostileScripts() {
		t.Run(name, func(t *testing.T) {
			for range 5 {
				s := shell(t, script)
				s.Args = append(s.Args, s.ScratchParent)
				r := must(t, portableEngine{}, s, Exited)
				if !strings.Contains(fmt.Sprint(r.Isolation), "cgroup") {
					t.Errorf("isolation does not name the group: %+v", r.Isolation)
				}
			}
		})
	}
	noGroupsLeft(t)
}

// TestGroupForkBomb ends a tree that forks as fast as it can, by any method.
func TestGroupForkBomb(t *testing.T) {
	needGroup(t, "cgroup2", anyGroup)
	s := shell(t, `f() { f | f & }; f; sleep 60`)
	s.Limits.Processes = 40
	must(t, portableEngine{}, s, ProcessLimitExceeded)
	noGroupsLeft(t)
}

// TestGroupOfEachVersion starts a program in groups of one version alone, and
// kills it by what that version has.
func TestGroupOfEachVersion(t *testing.T) {
	for _, tt := range []struct {
		bucket  string
		unified bool
	}{{"cgroup1", false}, {"cgroup2", true}} {
		t.Run(tt.bucket, func(t *testing.T) {
			var of []hierarchy
			for _, h := range findHierarchies() {
				if h.unified == tt.unified {
					of = append(of, h)
				}
			}
			g, why := makeGroup(of)
			if g == nil {
				testenv.Skip(t, tt.bucket, why)
			}
			g.limit(Limits{Processes: 100, Memory: 1 << 30})
			t.Cleanup(func() {
				if err := g.remove(); err != nil {
					t.Error(err)
				}
			})
			killsAll(t, g)
		})
	}
}

// killsAll starts a tree in g and kills it.
func killsAll(t *testing.T, g *group) {
	t.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	dir := t.TempDir()
	ready := filepath.Join(dir, "ready")
	j := &job{
		path: "/bin/sh", scratch: dir, files: [3]*os.File{null, null, null}, stop: &stopper{}, begin: func() {},
		argv: []string{"sh", "-c", `trap '' TERM; while :; do (sleep 600) & (: > ready); sleep 0.01; done`},
		env:  []string{"PATH=/usr/bin:/bin", "HOME=" + dir},
	}
	pid, _, err := g.fork(j, newSession(j))
	if err != nil {
		t.Fatal(err)
	}
	waitFor(10*time.Second, func() bool { return exists(ready) && len(g.processes()) > 3 })
	if n := len(g.processes()); n < 3 {
		t.Errorf("%d processes are in the group", n)
	}
	waitFor(10*time.Second, func() bool { return !g.kill() })
	if left := g.processes(); len(left) > 0 {
		t.Errorf("%v are alive", left)
	}
	if t.Failed() { // what the group should miss must not outlive the test
		_ = syscall.Kill(-pid, syscall.SIGKILL)
	}
	reapChild(t, pid)
	if u := g.usage(); u.cpuMethod != "" && u.user+u.system == 0 {
		t.Error("the group used no CPU time")
	}
}

func TestGroupCountsTheCPUOfTheTree(t *testing.T) {
	needGroup(t, "cgroup2", func(g *group) bool { return g.usage().cpuMethod != "" })
	// A child that nobody waits for is in no rusage.
	s := shell(t, `(i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done; : > done) & until [ -e done ]; do sleep 0.02; done; kill -KILL $!; exit 0`)
	r := must(t, portableEngine{}, s, Exited)
	if r.CPU.Scope != scopeTree || r.User < 50*time.Millisecond || r.User+r.System > r.Wall*2 {
		t.Errorf("user %v, system %v, wall %v, %+v", r.User, r.System, r.Wall, r.CPU)
	}
	s = shell(t, `while :; do sh -c 'i=0; while [ $i -lt 2000 ]; do i=$((i + 1)); done'; done`)
	s.Limits.CPU = 300 * time.Millisecond
	must(t, portableEngine{}, s, CPULimitExceeded)
}

func TestGroupLimitsAndMeasuresMemory(t *testing.T) {
	needGroup(t, "cgroup1", func(g *group) bool { return g.set["memory"] })
	r := must(t, portableEngine{}, self(t, "alloc", "64", "0"), Exited)
	if b := r.Memory.Tree.Bytes; b == nil || *b < 64<<20 || *b > 128<<20 || !strings.Contains(r.Memory.Tree.Method, "cgroup") {
		t.Errorf("the tree's peak is %v", show(r.Memory.Tree))
	}
	s := self(t, "alloc", "300", "60000")
	s.Limits.Memory = 150 << 20
	must(t, portableEngine{}, s, MemoryLimitExceeded)
	noGroupsLeft(t)
}

// TestGroupIsRemovedAfterFailures looks at the failures of each step.
func TestGroupIsRemovedAfterFailures(t *testing.T) {
	needGroup(t, "cgroup2", anyGroup)
	must(t, portableEngine{}, Spec{Path: "/no/such/program", Args: []string{"x"}, ScratchParent: t.TempDir()}, StartFailed)
	s := shell(t, "sleep 600")
	s.Limits.Wall = 50 * time.Millisecond
	must(t, portableEngine{}, s, TimedOut)
	s = shell(t, "exit 0")
	s.Expect = &Expectation{Dev: 1, Ino: 1, Size: 1}
	must(t, portableEngine{}, s, IdentityChanged)
	noGroupsLeft(t)
}

// TestGroupCapabilities checks what a host without ptrace says of itself.
func TestGroupCapabilities(t *testing.T) {
	r := Report{Properties: portableEngine{}.properties(&job{}), Figures: portableFigures()}
	groupCapabilities(&r)
	last := r.Figures[len(r.Figures)-1]
	if last.Name != "cgroup" || last.Can != (last.Method != "") || last.Can == (last.Reason != "") {
		t.Errorf("the report of groups is %+v", last)
	}
	noGroupsLeft(t)
}

// newSession is how the portable engine starts a program.
func newSession(j *job) *syscall.ProcAttr {
	return &syscall.ProcAttr{Dir: j.scratch, Env: j.env, Files: childFiles(j.files), Sys: &syscall.SysProcAttr{Setsid: true}}
}

func reapChild(t *testing.T, pid int) {
	t.Helper()
	var ws syscall.WaitStatus
	for {
		_, err := syscall.Wait4(pid, &ws, 0, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil || !ws.Signaled() {
			t.Errorf("the child ended with %v, %v", ws, err)
		}
		return
	}
}
