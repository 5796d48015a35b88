package probe

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// attack swaps the program at path in a tight loop while it is measured and run,
// for as long as it may take, and returns how the runs ended. What was not
// measured prints "ran".
func attack(t *testing.T, path string, good []byte, swap func(i int), long time.Duration) map[Outcome]int {
	t.Helper()
	var quit atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; !quit.Load(); i++ {
			swap(i)
		}
	})
	defer wg.Wait()
	defer quit.Store(true)
	ends := map[Outcome]int{}
	for begin := time.Now(); time.Since(begin) < long; {
		want, ok := measured(t, path, good)
		if !ok {
			continue
		}
		r, err := runWith(t.Context(), Spec{Path: path, Args: []string{path, "x"}, Expect: &want}, tracerEngine{})
		if err != nil {
			t.Error(err)
			break
		}
		ends[r.Outcome]++
		if bytes.Contains(r.Stdout, []byte("ran")) || r.Outcome == Exited && (!r.Expectation.Matched || string(r.Stdout) != "good\n") {
			t.Errorf("unmeasured bytes ran: %v %q %q %+v", r.Outcome, r.Stdout, r.Stderr, r.Expectation)
		}
	}
	return ends
}

// TestScriptSwapAttack replaces a script, which its interpreter opens by name
// only after the exec stop.
func TestScriptSwapAttack(t *testing.T) {
	good := map[string]string{"/bin/sh": "echo good\n", "/usr/bin/env sh": "echo good\n"}
	bad := map[string]string{"/bin/sh": "echo ran!\n", "/usr/bin/env sh": "echo ran!\n"}
	for name, program := range map[string][2]string{
		"/usr/bin/python3": {"print('good')\n", "print('ran!')\n"},
		"/usr/bin/node":    {"console.log('good')\n", "console.log('ran!')\n"},
	} {
		if _, err := os.Stat(name); err == nil {
			good[name], bad[name] = program[0], program[1]
		}
	}
	for interpreter := range good {
		right, wrong := []byte("#!"+interpreter+"\n"+good[interpreter]), []byte("#!"+interpreter+"\n"+bad[interpreter])
		for name, prepare := range map[string]func(*testing.T, []byte) (string, func(int)){
			"link": swapLink(right), "parent": swapParent(right), "rename": swapRename(right), "write": swapWrite(right),
		} {
			t.Run(filepath.Base(interpreter)+"/"+name, func(t *testing.T) {
				path, swap := prepare(t, wrong)
				ends := attack(t, path, right, swap, 1200*time.Millisecond)
				t.Log(ends)
				for o := range ends {
					if o != Exited && o != IdentityChanged && o != StartFailed {
						t.Errorf("%d runs ended %v", ends[o], o)
					}
				}
			})
		}
	}
}

// script is a Spec of a script and its measured identity.
func script(t *testing.T, text string) (Spec, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	want := identity(t, path)
	return Spec{
		Path: path, Args: []string{"any", "a", ""}, Expect: &want, ScratchParent: t.TempDir(),
		Env: Environment{Path: []string{"/usr/bin", "/bin"}},
	}, path
}

func TestScriptExpectation(t *testing.T) {
	for _, first := range []string{"#!/bin/sh", "#! \t/bin/sh -eu \t", "#!/usr/bin/env sh", "#!/usr/bin/env -S sh -e"} {
		s, _ := script(t, first+"\nprintf '%s,' \"$@\"\nhead -n 1 \"$0\" > /dev/null\nexit 3\n")
		r := must(t, tracerEngine{}, s, Exited)
		if x := r.Expectation; code(r) != "3" || !x.Matched || !x.Exact || !x.Lease || x.LeaseReason != "" && os.Geteuid() == 0 {
			t.Errorf("%s: exit %s, %q, %+v", first, code(r), r.Stderr, x)
		}
		if !strings.HasPrefix(string(r.Stdout), "a,,") {
			t.Errorf("%s: output %q", first, r.Stdout)
		}
	}
	// The interpreter's identity may be given, and must hold.
	s, _ := script(t, "#!/bin/sh\nexit 0\n")
	in := identity(t, "/bin/sh")
	s.Expect.Interpreter = &in
	must(t, tracerEngine{}, s, Exited)
	in.CtimeNS++
	if r := must(t, tracerEngine{}, s, IdentityChanged); !strings.Contains(r.Expectation.Difference, "interpreter") {
		t.Errorf("expectation is %+v", r.Expectation)
	}
	// An interpreter that does not open it has executed nothing of it.
	s, _ = script(t, "#!/bin/true\nexit 3\n")
	if r := must(t, tracerEngine{}, s, Exited); r.Expectation.Exact || !r.Expectation.Matched {
		t.Errorf("expectation is %+v", r.Expectation)
	}
}

// TestNestedScript runs a script whose interpreter is a script.
func TestNestedScript(t *testing.T) {
	dir := t.TempDir()
	inner := file(t, dir, "inner", []byte("#!/bin/sh -e\nexec /bin/sh \"$2\" \"$1\"\n"))
	s, _ := script(t, "#!"+inner+" one argument\necho \"$1\"\n")
	if r := must(t, tracerEngine{}, s, Exited); string(r.Stdout) != "one argument\n" || !r.Expectation.Exact {
		t.Errorf("output %q, errors %q, %+v", r.Stdout, r.Stderr, r.Expectation)
	}
}

// TestScriptReplacedBeforeItIsOpened waits, in place of the interpreter, until
// the script was replaced.
func TestScriptReplacedBeforeItIsOpened(t *testing.T) {
	dir := t.TempDir()
	wait := file(t, dir, "wait", []byte("#!/bin/sh\necho ready\nwhile [ ! -e "+dir+"/go ]; do sleep 0.01; done\nexec /bin/sh \"$1\"\n"))
	for name, change := range map[string]func(path string) error{
		"another file": func(path string) error {
			other := file(t, dir, "other", []byte("#!"+wait+"\necho ran\n"))
			return os.Rename(other, path)
		},
		"another size": func(path string) error {
			return os.WriteFile(path, []byte("#!"+wait+"\necho ran\n"), 0o755)
		},
		"another mode": func(path string) error { return os.Chmod(path, 0o777) },
	} {
		t.Run(name, func(t *testing.T) {
			_ = os.Remove(filepath.Join(dir, "go"))
			s, path := script(t, "#!"+wait+"\necho good\n")
			changed := make(chan error, 1)
			time.AfterFunc(200*time.Millisecond, func() {
				err := change(path)
				_ = os.WriteFile(filepath.Join(dir, "go"), nil, 0o600)
				changed <- err
			})
			r := must(t, tracerEngine{}, s, IdentityChanged)
			if err := <-changed; err != nil {
				t.Error(err)
			}
			if strings.Contains(string(r.Stdout), "ran") || r.Expectation.Difference == "" {
				t.Errorf("output %q, %+v", r.Stdout, r.Expectation)
			}
		})
	}
}

// TestScriptWriter writes to a script while it is read: the shell reads it as it
// goes. The writer is held up until the run has ended.
func TestScriptWriter(t *testing.T) {
	s, path := script(t, "#!/bin/sh\nsleep 0.3\necho good\n")
	var wrote time.Time
	done := make(chan error, 1)
	time.AfterFunc(100*time.Millisecond, func() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err == nil {
			_, err = f.WriteString("#!/bin/sh\nsleep 0.3\necho ran!\n")
			_ = f.Close()
		}
		wrote = time.Now()
		done <- err
	})
	begin := time.Now()
	r := must(t, tracerEngine{}, s, IdentityChanged)
	ended := begin.Add(r.Wall)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if x := r.Expectation; len(r.Stdout) > 0 || !x.Lease || x.Difference != wantedByWriter || wrote.Before(ended) {
		t.Errorf("output %q, %+v, written %v after the end", r.Stdout, x, wrote.Sub(ended))
	}
}

// TestScriptChangedWhileItRuns changes what no lease covers.
func TestScriptChangedWhileItRuns(t *testing.T) {
	for name, change := range map[string]func(path string) error{
		"mode":    func(path string) error { return os.Chmod(path, 0o777) },
		"name":    func(path string) error { return os.Rename(path, path+"2") },
		"removed": os.Remove,
	} {
		s, path := script(t, "#!/bin/sh\nsleep 0.3\n")
		changed := make(chan error, 1)
		time.AfterFunc(100*time.Millisecond, func() { changed <- change(path) })
		if r := must(t, tracerEngine{}, s, IdentityChanged); !strings.HasPrefix(r.Expectation.Difference, "script: ") {
			t.Errorf("%s: %+v", name, r.Expectation)
		}
		if err := <-changed; err != nil {
			t.Error(err)
		}
	}
}

// TestLease checks who gets one, and that a host that is told of every signal is
// told of none.
func TestLease(t *testing.T) {
	path := copyOf(t, "/bin/true")
	h, err := hold(path)
	if err != nil || !h.leased || h.wanted() || h.changed() != "" {
		t.Fatalf("hold = %+v, %v", h, err)
	}
	if _, err := unix.Open(path, unix.O_WRONLY|unix.O_NONBLOCK, 0); err != unix.EAGAIN {
		t.Errorf("a writer got %v", err)
	}
	if !h.wanted() {
		t.Error("the writer was not seen")
	}
	if owner, err := unix.FcntlInt(uintptr(h.fd), unix.F_GETOWN, 0); err != nil || owner != 0 {
		t.Errorf("a signal goes to %d, %v", owner, err)
	}
	h.close()
	w, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if h, err = hold(path); err != nil || h.leased || h.reason == "" {
		t.Errorf("with a writer, hold = %+v, %v", h, err)
	}
	h.close()
	if os.Geteuid() != 0 {
		if h, err = hold("/bin/true"); err != nil || h.leased || h.reason == "" {
			t.Errorf("of another user's, hold = %+v, %v", h, err)
		}
		h.close()
	}
	if _, err := hold("/dev/null"); err != errNotRegular {
		t.Errorf("of a device: %v", err)
	}
}

func TestScriptLine(t *testing.T) {
	long := strings.Repeat("x", 300)
	for _, tt := range [][3]string{
		{"#!/bin/sh\n", "/bin/sh", ""},
		{"#! /bin/sh  -e  -u \t\nx", "/bin/sh", "-e  -u"},
		{"#!/bin/sh", "/bin/sh", ""},
		{"#!/bin/sh a\x00b\n", "/bin/sh", "a"},
		{"#!/bin/sh\x00 a\n", "/bin/sh", ""},
		{"#!/bin/sh\r\n", "/bin/sh\r", ""},
		{"#!/bin/sh " + long, "/bin/sh", long[:shebangSize-1-len("#!/bin/sh ")]},
		{"echo", "", ""},
		{"#!", "", ""},
		{"#! \n", "", ""},
	} {
		if name, argument := scriptLine([]byte(tt[0])); name != tt[1] || argument != tt[2] {
			t.Errorf("scriptLine(%.20q) = %q, %q", tt[0], name, argument)
		}
	}
}

func TestFollowLinks(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "a", "b"), 0o755); err != nil {
		t.Fatal(err)
	}
	file(t, filepath.Join(dir, "a", "b"), "f", nil)
	for name, to := range map[string]string{"l": "a", "a/m": dir + "/l/b", "a/b/n": "../b/f", "c1": "c2", "c2": "c1"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	links, target := followLinks(dir + "/l/./m/../b/n")
	if target != dir+"/a/b/f" {
		t.Errorf("target is %s", target)
	}
	var names []string
	for name := range links {
		names = append(names, strings.TrimPrefix(name, dir))
	}
	slices.Sort(names)
	if got := fmt.Sprint(names); got != "[/a/b/n /a/m /l]" {
		t.Errorf("links are %s", got)
	}
	followLinks(dir + "/c1/x") // ends
}

// TestScriptLinkMovedForOneThatFollowsIt has an interpreter that follows the
// script's links itself, while these lead elsewhere.
func TestScriptLinkMovedForOneThatFollowsIt(t *testing.T) {
	need(t, "readlink")
	dir := t.TempDir()
	follow := file(t, dir, "follow", []byte("#!/bin/sh\necho ready\nwhile [ ! -e "+dir+"/go ]; do sleep 0.01; done\n"+
		"f=$(readlink -f \"$1\")\n[ -e "+dir+"/back ] || mv "+dir+"/was "+dir+"/link\nexec /bin/sh \"$f\"\n"))
	for _, name := range []string{"a", "b"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	good := file(t, filepath.Join(dir, "a"), "script", []byte("#!"+follow+"\necho good\n"))
	file(t, filepath.Join(dir, "b"), "script", []byte("#!"+follow+"\necho ran!\n"))
	relink(filepath.Join(dir, "link"), "a", 0)
	want := identity(t, good)
	path := filepath.Join(dir, "link", "script")
	s := Spec{
		Path: path, Args: []string{path}, Expect: &want, Env: Environment{Path: []string{"/usr/bin", "/bin"}},
		Isolation: IsolationRequest{Write: []string{dir}},
	}
	time.AfterFunc(200*time.Millisecond, func() {
		_ = os.Symlink("a", filepath.Join(dir, "was"))
		relink(filepath.Join(dir, "link"), "b", 1)
		_ = os.WriteFile(filepath.Join(dir, "go"), nil, 0o600)
	})
	r := must(t, tracerEngine{}, s, IdentityChanged)
	if strings.Contains(string(r.Stdout), "ran") || !strings.Contains(r.Expectation.Difference, "link") {
		t.Errorf("output %q, errors %q, %+v", r.Stdout, r.Stderr, r.Expectation)
	}
}

// TestScriptArguments compares with a process of the right interpreter that was
// given other arguments, as another first line would.
func TestScriptArguments(t *testing.T) {
	s, path := script(t, "#!/bin/sh -e\nread x\n")
	g, difference := newGuard(&job{path: path, argv: []string{"x", "a"}, expect: s.Expect, scratch: "/"})
	defer g.close()
	if difference != "" || !slices.Equal(g.argv, []string{"/bin/sh", "-e", path, "a"}) {
		t.Fatalf("newGuard = %q, %q", g.argv, difference)
	}
	for _, tt := range []struct {
		args []string
		want bool
	}{{[]string{"/bin/sh", "-c", "read x", path, "a"}, false}, {g.argv, true}} {
		read, write, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		p, err := os.StartProcess("/bin/sh", tt.args, &os.ProcAttr{Files: []*os.File{read}})
		if err != nil {
			t.Fatal(err)
		}
		status := g.compare(p.Pid)
		if tt.want == (status.Difference == "the arguments are not those of the script's first line") {
			t.Errorf("with %q: %+v", tt.args, status)
		}
		_ = write.Close()
		_, _ = p.Wait()
		_ = read.Close()
	}
}
