package probe

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/provider-measure/provider-measure/internal/testenv"
)

// needNamespaces skips where this user may not have the namespaces.
func needNamespaces(t testing.TB, asked ...Namespace) {
	t.Helper()
	answers := make(chan error, 1)
	go onFreshThread(func() {
		s := newNamespaces(asked)
		answers <- errors.Join(s.enter(), s.try())
	})
	if err := <-answers; err != nil {
		testenv.Skip(t, "namespace", err.Error())
	}
}

// TestNamespaces asks for each by itself, and for all, and compares what the
// program is in with what this process is in.
func TestNamespaces(t *testing.T) {
	sets := map[string][]Namespace{"all": allNamespaces()}
	for _, n := range allNamespaces() {
		sets[string(n)] = []Namespace{n}
	}
	for name, asked := range sets {
		t.Run(name, func(t *testing.T) {
			needNamespaces(t, asked...)
			s := shell(t, `for n in user net pid mnt ipc uts; do readlink /proc/self/ns/$n; done`)
			s.Isolation.Namespaces = asked
			r := must(t, tracerEngine{}, s, Exited)
			got := lines(r.Stdout)
			if len(got) != 6 {
				t.Fatalf("output %q, errors %q", r.Stdout, r.Stderr)
			}
			for i, n := range allNamespaces() {
				_, file := n.kernel()
				host, err := os.Readlink("/proc/self/ns/" + file)
				if err != nil {
					t.Fatal(err)
				}
				own := slices.Contains(asked, n) || n == NamespaceUser && os.Geteuid() != 0
				if own != (got[i] != host) {
					t.Errorf("%s: the program is in %s, the host in %s", n, got[i], host)
				}
				status := slices.IndexFunc(r.Isolation, func(p PropertyStatus) bool { return p.Property == n.property() })
				if (status >= 0) != slices.Contains(asked, n) || status >= 0 && !r.Isolation[status].Enforced {
					t.Errorf("%s: isolation says %+v", n, r.Isolation)
				}
			}
		})
	}
}

func TestNamespacesKeepEverythingElse(t *testing.T) {
	needIsolation(t)
	needNamespaces(t, allNamespaces()...)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "kept"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	s := self(t, "attempt", dir, strconv.Itoa(os.Getpid()), "none")
	s.Isolation.Namespaces = allNamespaces()
	s.ObserveFiles = true
	r := must(t, tracerEngine{}, s, Exited)
	for _, line := range lines(r.Stdout) {
		name, what, _ := strings.Cut(line, ": ")
		refused := strings.HasPrefix(what, "refused") && !strings.Contains(what, "not refused")
		if refused == slices.Contains(permitted(), name) {
			t.Error(line)
		}
	}
	if len(r.Observed) == 0 || r.Memory.Process.Bytes == nil || !r.Counted || len(r.Executed) == 0 {
		t.Errorf("%d files, memory %v, counted %v", len(r.Observed), show(r.Memory.Process), r.Counted)
	}
}

// TestUserNamespaceGivesNothing looks at the program's user and capabilities,
// before and after a second exec, which would give root all of the namespace's.
func TestUserNamespaceGivesNothing(t *testing.T) {
	needNamespaces(t, NamespaceUser)
	s := shell(t, `id -u; id -g; sh -c "grep -E '^Cap(Inh|Prm|Eff|Amb)' /proc/self/status" | grep -c 0000000000000000; echo x > f && stat -c %u f`)
	s.Isolation.Namespaces = []Namespace{NamespaceUser}
	r := must(t, tracerEngine{}, s, Exited)
	uid := os.Geteuid()
	if want := fmt.Sprintf("%d\n%d\n4\n%d\n", uid, os.Getegid(), uid); string(r.Stdout) != want {
		t.Errorf("output %q, want %q, errors %q", r.Stdout, want, r.Stderr)
	}
}

// TestNestedNamespaceIsKilled makes the one that the filter must let pass.
func TestNestedNamespaceIsKilled(t *testing.T) {
	needNamespaces(t, NamespaceUser)
	s := self(t, "nested")
	s.Isolation.Namespaces = []Namespace{NamespaceUser}
	if r := must(t, tracerEngine{}, s, Exited); string(r.Stdout) != "killed\n" {
		t.Errorf("output %q, errors %q", r.Stdout, r.Stderr)
	}
	// Without a namespace of its own, or with others, the call itself is refused.
	s = self(t, "nested")
	if r := must(t, tracerEngine{}, s, Exited); string(r.Stdout) != unix.EPERM.Error()+"\n" {
		t.Errorf("output %q, errors %q", r.Stdout, r.Stderr)
	}
}

// nestedNamespace makes a child in another user namespace, exactly as the forker
// makes the program.
func nestedNamespace() error {
	s := namespaces{asked: []Namespace{NamespaceUser}, user: true}
	handle := int32(-1)
	pid, _, errno := unix.RawSyscall6(unix.SYS_CLONE, uintptr(s.clones()[0]), 0, uintptr(unsafe.Pointer(&handle)), 0, 0, 0)
	if errno == 0 && pid == 0 {
		_, _, _ = unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
	}
	if errno != 0 {
		fmt.Println(errno)
		return nil
	}
	var ws unix.WaitStatus
	if _, err := unix.Wait4(int(pid), &ws, 0, nil); err != nil {
		return err
	}
	if ws.Signaled() && ws.Signal() == unix.SIGKILL {
		fmt.Println("killed")
	}
	return nil
}

func TestNetworkNamespace(t *testing.T) {
	needNamespaces(t, NamespaceNetwork)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	s := self(t, "dial", listener.Addr().String())
	s.Isolation.Network = NetworkAllow
	if r := must(t, tracerEngine{}, s, Exited); code(r) != "0" {
		t.Errorf("without a namespace: exit %s, %q", code(r), r.Stderr)
	}
	s.Isolation.Namespaces = []Namespace{NamespaceNetwork}
	if r := must(t, tracerEngine{}, s, Exited); code(r) == "0" || !strings.Contains(string(r.Stderr), unix.ENETUNREACH.Error()) {
		t.Errorf("in a namespace: exit %s, %q", code(r), r.Stderr)
	}
	s = shell(t, `grep -c : /proc/net/dev; grep -c 0 /proc/net/route`)
	s.Isolation.Namespaces = []Namespace{NamespaceNetwork}
	if r := must(t, tracerEngine{}, s, Exited); string(r.Stdout) != "1\n0\n" {
		t.Errorf("interfaces and routes %q, errors %q", r.Stdout, r.Stderr)
	}
}

// TestPIDNamespace shows what being process 1 changes, as documented.
func TestPIDNamespace(t *testing.T) {
	need(t, "setsid")
	needNamespaces(t, NamespacePID)
	run := func(script string, want Outcome) *Result {
		t.Helper()
		s := shell(t, script)
		s.Args = append(s.Args, s.ScratchParent)
		s.Isolation.Namespaces = []Namespace{NamespacePID}
		return must(t, tracerEngine{}, s, want)
	}
	if r := run(`echo $$; kill -TERM $$; kill -PWR $$; kill -KILL $$; echo alive; exit 3`, Exited); string(r.Stdout) != "1\nalive\n" || code(r) != "3" {
		t.Errorf("exit %s, output %q, errors %q", code(r), r.Stdout, r.Stderr)
	}
	if r := run(`trap 'echo handled' TERM; kill -TERM $$; sh -c 'kill -TERM $$'; echo $?`, Exited); string(r.Stdout) != "handled\n143\n" {
		t.Errorf("output %q, errors %q", r.Stdout, r.Stderr)
	}
	if r := run(`setsid sleep 600 & sleep 0.1; exit 0`, Exited); len(r.Leftover) != 1 || r.Leftover[0].Name != "sleep" {
		t.Errorf("leftover is %+v", r.Leftover)
	}
	for name, script := range hostileScripts() {
		if name != "stopped" { // which stops what ps calls its parent
			run(script, Exited)
		}
	}
	s := shell(t, `trap '' TERM; sh -c 'sleep 600' & sleep 600`)
	s.Isolation.Namespaces = []Namespace{NamespacePID}
	s.Limits.Wall = 200 * time.Millisecond
	must(t, tracerEngine{}, s, TimedOut)
	s = shell(t, `f() { f | f & }; f; sleep 60`)
	s.Isolation.Namespaces = []Namespace{NamespacePID}
	s.Limits.Processes = 40
	must(t, tracerEngine{}, s, ProcessLimitExceeded)
}

// TestJobControlInPIDNamespace stops and continues a child there.
func TestJobControlInPIDNamespace(t *testing.T) {
	needNamespaces(t, NamespacePID)
	s := shell(t, `sleep 600 & p=$!; kill -STOP $p; kill -CONT $p; kill -TERM $p; wait $p; echo $?`)
	s.Isolation.Namespaces = []Namespace{NamespacePID, NamespaceMount}
	if r := must(t, tracerEngine{}, s, Exited); string(r.Stdout) != "143\n" {
		t.Errorf("output %q, errors %q", r.Stdout, r.Stderr)
	}
}

// TestMountsDoNotLeak mounts on a thread as the forker's is.
func TestMountsDoNotLeak(t *testing.T) {
	if os.Geteuid() != 0 {
		testenv.Skip(t, "root", "only root's forker makes a mount namespace itself")
	}
	needNamespaces(t, NamespaceMount)
	dir := t.TempDir()
	answers := make(chan error, 1)
	go onFreshThread(func() { answers <- mountWithin(dir) })
	if err := <-answers; err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("the mount is seen outside: %v, %v", left, err)
	}
}

// mountWithin makes a host whose mounts are shared, as most hosts' are, mounts
// what a run would, and goes back to see whether the host has it.
func mountWithin(dir string) error {
	err := errors.Join(
		unix.Unshare(unix.CLONE_NEWNS), unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""),
		unix.Mount("none", dir, "tmpfs", 0, ""), unix.Mount("none", dir, "", unix.MS_SHARED, ""),
		os.Mkdir(filepath.Join(dir, "d"), 0o700),
	)
	if err != nil {
		return err
	}
	host, err := os.Open("/proc/thread-self/ns/mnt")
	if err != nil {
		return err
	}
	defer host.Close()
	s := newNamespaces([]Namespace{NamespaceMount})
	within := filepath.Join(dir, "d", "within")
	err = errors.Join(s.enter(), unix.Mount("none", filepath.Join(dir, "d"), "tmpfs", 0, ""), os.WriteFile(within, nil, 0o600))
	if err == nil {
		err = unix.Setns(int(host.Fd()), unix.CLONE_NEWNS)
	}
	if err == nil && exists(within) {
		err = errors.New("the host has the run's mount")
	}
	return err
}

// TestNamespacesRefused checks the error of each way to be refused.
func TestNamespacesRefused(t *testing.T) {
	s := shell(t, "echo ran")
	s.Isolation.Namespaces = []Namespace{NamespaceNetwork}
	if r, err := runWith(t.Context(), s, portableEngine{}); r != nil || !errors.Is(err, CodeNamespace) {
		t.Errorf("the portable engine: %v, %v", r, err)
	}
	for _, bad := range [][]Namespace{{"time"}, {""}, {NamespacePID, NamespacePID}} {
		s.Isolation.Namespaces = bad
		if r, err := Run(t.Context(), s); r != nil || !errors.Is(err, CodeBadIsolation) {
			t.Errorf("%q: %v, %v", bad, r, err)
		}
	}
	// A host that refuses them: the filter of a run without.
	answers := make(chan error, 1)
	go onFreshThread(func() {
		err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		if err == nil {
			err = installFilter(systemCallFilter(NetworkDeny))
		}
		if err == nil {
			s := newNamespaces([]Namespace{NamespaceUser, NamespaceNetwork})
			err = s.try()
		}
		answers <- err
	})
	var refused *Error
	if err := <-answers; !errors.As(err, &refused) || refused.Code != CodeNamespace || !errors.Is(err, unix.EPERM) {
		t.Errorf("a host that refuses: %v", err)
	}
	// A missing program is not taken for a refusal.
	needNamespaces(t, NamespaceUser)
	missing := Spec{Path: "/no/such/program", Args: []string{"x"}, ScratchParent: t.TempDir()}
	missing.Isolation.Namespaces = []Namespace{NamespaceUser}
	must(t, tracerEngine{}, missing, StartFailed)
}

func TestNamespaceFilter(t *testing.T) {
	s := namespaces{asked: []Namespace{NamespaceUser, NamespacePID}, user: true}
	filter := systemCallFilter(NetworkDeny, s.clones()...)
	own := uint64(unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_PIDFD | uint64(unix.SIGCHLD))
	refused := unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	for flags, want := range map[uint64]uint32{
		own:                           unix.SECCOMP_RET_ALLOW,
		own | unix.CLONE_NEWNET:       refused,
		own | unix.CLONE_UNTRACED:     refused,
		own &^ unix.CLONE_NEWPID:      refused,
		uint64(unix.CLONE_NEWUSER):    refused,
		uint64(unix.SIGCHLD):          unix.SECCOMP_RET_ALLOW,
		unix.CLONE_VM | unix.CLONE_FS: unix.SECCOMP_RET_ALLOW,
	} {
		if got := simulate(filter, nativeArch, unix.SYS_CLONE, flags); got != want {
			t.Errorf("clone(%#x) is answered %#x, want %#x", flags, got, want)
		}
	}
}

func TestNamespaceCapabilities(t *testing.T) {
	all := namespaceCapabilities()
	if len(all) != len(allNamespaces()) {
		t.Errorf("%d of %d", len(all), len(allNamespaces()))
	}
	for _, p := range all {
		if p.Enforced == (p.Reason != "") || p.Enforced == (p.Method == "") {
			t.Errorf("neither a method nor a reason, or both: %+v", p)
		}
	}
}
