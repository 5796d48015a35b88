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

	"golang.org/x/sys/unix"

	"github.com/provider-measure/provider-measure/internal/testenv"
)

// needIsolation skips where the kernel cannot enforce all of it.
func needIsolation(t testing.TB) {
	t.Helper()
	if v := landlockVersion(); v < landlockScoped || !filtersAvailable() {
		testenv.Skip(t, "landlock", fmt.Sprintf("Landlock ABI %d and seccomp %v", v, filtersAvailable()))
	}
}

// TestAttempts runs every attempt of attempts_linux_test.go.
func TestAttempts(t *testing.T) {
	needIsolation(t)
	dir := t.TempDir()
	kept := filepath.Join(dir, "kept")
	if err := os.WriteFile(kept, []byte("kept"), 0o666); err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("probe-test-%d-%d", os.Getpid(), time.Now().UnixNano())
	listener, err := net.Listen("unix", "@"+name)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	s := self(t, "attempt", dir, strconv.Itoa(os.Getpid()), name)
	s.Isolation.Require = []Property{PropertyNetwork, PropertyWrites, PropertyProcesses, PropertyMemory}
	r := must(t, tracerEngine{}, s, Exited)
	got := lines(r.Stdout)
	if want := len(attempts("", "", "")); len(got) != want {
		t.Fatalf("%d answers of %d: %q %q", len(got), want, r.Stdout, r.Stderr)
	}
	for _, line := range got {
		name, what, _ := strings.Cut(line, ": ")
		refused := strings.HasPrefix(what, "refused") && !strings.Contains(what, "not refused")
		if refused == slices.Contains(permitted(), name) {
			t.Error(line)
		}
	}
	if data, err := os.ReadFile(kept); err != nil || string(data) != "kept" {
		t.Errorf("the file outside is now %q, %v", data, err)
	}
	for _, p := range r.Isolation {
		if !p.Enforced && p.Property != PropertyReads {
			t.Errorf("not enforced: %+v", p)
		}
	}
}

// TestAttemptsSucceedUnrestricted shows that the attempts that need no privilege
// are refused by us and not by the host.
func TestAttemptsSucceedUnrestricted(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "kept"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	s := self(t, append([]string{"attempt", dir, strconv.Itoa(os.Getpid()), "none"}, harmless()...)...)
	r := must(t, portableEngine{}, s, Exited)
	for _, name := range harmless() {
		if name == "link into scratch" {
			continue // the scratch directory may be on another file system
		}
		if !slices.Contains(lines(r.Stdout), name+": done") {
			t.Errorf("%s is refused by the host itself: %s", name, r.Stdout)
		}
	}
}

func TestPrivilegesOfTheChild(t *testing.T) {
	r := must(t, tracerEngine{}, shell(t, `grep -E '^(Cap(Inh|Prm|Eff|Bnd|Amb)|NoNewPrivs|Seccomp):' /proc/self/status`), Exited)
	for _, line := range lines(r.Stdout) {
		words := strings.Fields(line)
		switch {
		case words[0] == "NoNewPrivs:" && words[1] == "1", words[0] == "Seccomp:" && words[1] == "2":
		// Without CAP_SETPCAP the bounding set stays, and gives nothing.
		case words[0] == "CapBnd:" && os.Geteuid() != 0:
		case strings.HasPrefix(words[0], "Cap") && strings.Trim(words[1], "0") == "":
		default:
			t.Error(line)
		}
	}
}

// TestHostIsNotRestricted checks that a run leaves nothing on the host's threads.
func TestHostIsNotRestricted(t *testing.T) {
	for range 20 {
		must(t, tracerEngine{}, shell(t, "exit 0"), Exited)
	}
	done := make(chan error)
	for range 50 {
		go func() { done <- socket(unix.AF_INET) }()
	}
	for range 50 {
		if err := <-done; err != nil {
			t.Fatalf("a host thread is restricted: %v", err)
		}
	}
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		text, err := os.ReadFile("/proc/self/task/" + task.Name() + "/status")
		if err != nil {
			continue // it has just ended
		}
		if n, _ := field(text, "NoNewPrivs"); n != 0 {
			t.Errorf("thread %s of the host has no_new_privs", task.Name())
		}
	}
}

func TestNetworkAllowed(t *testing.T) {
	s := self(t, "attempt", t.TempDir(), "1", "none", "socket inet", "socket inet6")
	s.Isolation.Network = NetworkAllow
	r := must(t, tracerEngine{}, s, Exited)
	for _, name := range []string{"socket inet", "socket inet6"} {
		if !slices.Contains(lines(r.Stdout), name+": done") {
			t.Errorf("%s is refused although the network is allowed", name)
		}
	}
	for _, p := range r.Isolation {
		if p.Property == PropertyNetwork && (p.Enforced || p.Reason != networkAllowed) {
			t.Errorf("network is %+v", p)
		}
	}
}

func TestDeclaredWrites(t *testing.T) {
	needIsolation(t)
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := shell(t, `echo x > "$1/new" && mkdir "$1/d" && echo y > "$2" && echo good; rm -f "$2" 2> /dev/null || echo kept`, dir, file)
	s.Isolation.Write = []string{dir, file, ScratchVar + "/."}
	if r := must(t, tracerEngine{}, s, Exited); string(r.Stdout) != "good\nkept\n" {
		t.Errorf("output %q, errors %q", r.Stdout, r.Stderr)
	}
	s = shell(t, "echo ran")
	s.Isolation.Write = []string{filepath.Join(dir, "none")}
	if r, err := runWith(t.Context(), s, tracerEngine{}); r != nil || !errors.Is(err, CodeBadIsolation) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Run with a path that does not exist = %v, %v", r, err)
	}
}

func TestLimitedReads(t *testing.T) {
	needIsolation(t)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("s"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := shell(t, `cat "$1" 2> /dev/null || echo refused; ls / > /dev/null 2>&1 || echo unlisted; echo x > f; cat f; cat /dev/null`, secret)
	s.Isolation.Require = []Property{PropertyReads}
	for _, dir := range []string{"/bin", "/usr", "/lib", "/lib64", "/etc/ld.so.cache"} {
		if _, err := os.Stat(dir); err == nil {
			s.Isolation.Read = append(s.Isolation.Read, dir)
		}
	}
	if r := must(t, tracerEngine{}, s, Exited); string(r.Stdout) != "refused\nunlisted\nx\n" {
		t.Errorf("output %q, errors %q", r.Stdout, r.Stderr)
	}
}

func TestFilter(t *testing.T) {
	deny, allow := systemCallFilter(NetworkDeny), systemCallFilter(NetworkAllow)
	const native = nativeArch
	errno := func(e unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(e) }
	pass := uint32(unix.SECCOMP_RET_ALLOW)
	type test struct {
		name         string
		arch, number uint32
		arg0         uint64
		deny, allow  uint32
	}
	tests := []test{
		{"read", native, unix.SYS_READ, 0, pass, pass},
		{"foreign processor mode", unix.AUDIT_ARCH_I386, 3, 0, errno(unix.ENOSYS), errno(unix.ENOSYS)},
		{"another foreign mode", unix.AUDIT_ARCH_ARM, unix.SYS_READ, 0, errno(unix.ENOSYS), errno(unix.ENOSYS)},
		{"socket unix", native, unix.SYS_SOCKET, unix.AF_UNIX, pass, pass},
		{"socket inet", native, unix.SYS_SOCKET, unix.AF_INET, errno(unix.EACCES), pass},
		{"socket inet with a high half", native, unix.SYS_SOCKET, 1<<32 | unix.AF_INET, errno(unix.EACCES), pass},
		{"socketpair inet", native, unix.SYS_SOCKETPAIR, unix.AF_INET, errno(unix.EACCES), pass},
		{"clone", native, unix.SYS_CLONE, uint64(unix.SIGCHLD), pass, pass},
		{"clone of a thread", native, unix.SYS_CLONE, unix.CLONE_VM | unix.CLONE_THREAD | unix.CLONE_SETTLS, pass, pass},
		{"clone untraced", native, unix.SYS_CLONE, unix.CLONE_UNTRACED, errno(unix.EPERM), errno(unix.EPERM)},
		{"shared memory by its number", native, unix.SYS_SHMAT, 0, errno(unix.ENOSYS), errno(unix.ENOSYS)},
		{"semaphore by its number", native, unix.SYS_SEMOP, 0, errno(unix.ENOSYS), errno(unix.ENOSYS)},
		{"message by the queue's number", native, unix.SYS_MSGRCV, 0, errno(unix.ENOSYS), errno(unix.ENOSYS)},
		{"clone into a namespace", native, unix.SYS_CLONE, unix.CLONE_NEWUSER, errno(unix.EPERM), errno(unix.EPERM)},
		{"clone3", native, unix.SYS_CLONE3, 0, errno(unix.ENOSYS), errno(unix.ENOSYS)},
		{"unshare descriptors", native, unix.SYS_UNSHARE, unix.CLONE_FILES, pass, pass},
		{"unshare time", native, unix.SYS_UNSHARE, unix.CLONE_NEWTIME, errno(unix.EPERM), errno(unix.EPERM)},
		{"ask to be traced", native, unix.SYS_PTRACE, unix.PTRACE_TRACEME, pass, pass},
		{"attach", native, unix.SYS_PTRACE, unix.PTRACE_ATTACH, errno(unix.EPERM), errno(unix.EPERM)},
		{"seize", native, unix.SYS_PTRACE, unix.PTRACE_SEIZE, errno(unix.EPERM), errno(unix.EPERM)},
		{"detach", native, unix.SYS_PTRACE, unix.PTRACE_DETACH, pass, pass},
		{"an unknown call", native, 9999, 0, pass, pass},
	}
	if foreignNumbers != 0 {
		tests = append(tests, test{"other numbers of the same arch", native, foreignNumbers | unix.SYS_SOCKET, unix.AF_INET, errno(unix.ENOSYS), errno(unix.ENOSYS)})
	}
	for _, n := range refusedCalls() {
		tests = append(tests, test{"refused", native, n, 0, errno(unix.EPERM), errno(unix.EPERM)})
	}
	for _, n := range absentCalls() {
		tests = append(tests, test{"absent", native, n, 0, errno(unix.ENOSYS), errno(unix.ENOSYS)})
	}
	for _, tt := range tests {
		if got := simulate(deny, tt.arch, tt.number, tt.arg0); got != tt.deny {
			t.Errorf("%s (%d), network denied: %#x, want %#x", tt.name, tt.number, got, tt.deny)
		}
		if got := simulate(allow, tt.arch, tt.number, tt.arg0); got != tt.allow {
			t.Errorf("%s (%d), network allowed: %#x, want %#x", tt.name, tt.number, got, tt.allow)
		}
	}
	if len(deny) > unix.BPF_MAXINSNS {
		t.Errorf("%d instructions", len(deny))
	}
}

func TestPropertiesNameTheirReasons(t *testing.T) {
	for _, p := range []*plan{
		{job: &job{}}, // a kernel with nothing
		{job: &job{}, landlock: landlock{abi: 1}},
		{job: &job{network: NetworkAllow, read: []string{"/"}}, landlock: landlock{abi: 7}, filter: systemCallFilter(NetworkAllow)},
	} {
		all := p.properties()
		if len(all) != 9 {
			t.Errorf("%d properties", len(all))
		}
		for _, s := range all {
			if s.Enforced == (s.Reason != "") || s.Enforced == (s.Method == "") {
				t.Errorf("neither a method nor a reason, or both: %+v", s)
			}
		}
	}
	bare := (&plan{job: &job{}}).properties()
	for _, p := range []Property{PropertyNetwork, PropertyWrites, PropertyProcesses} {
		if err := enforceable(bare, []Property{p}); !errors.Is(err, CodeNotEnforceable) {
			t.Errorf("%s on a kernel with nothing: %v", p, err)
		}
	}
}
