package probe

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/provider-measure/provider-measure/internal/testenv"
)

// observe runs s and returns what it used, by path.
func observe(t *testing.T, s Spec) (*Result, map[string]ObservedFile) {
	t.Helper()
	s.ObserveFiles = true
	r := must(t, tracerEngine{}, s, Exited)
	if *r.ExitCode != 0 {
		t.Fatalf("exit code %d, stdout %.400s, stderr %.400s", *r.ExitCode, r.Stdout, r.Stderr)
	}
	files := map[string]ObservedFile{}
	for _, f := range r.Observed {
		files[f.Path] = f
	}
	return r, files
}

func complete(t *testing.T, r *Result) {
	t.Helper()
	if r.ObservedIncomplete != "" {
		t.Errorf("incomplete: %s", r.ObservedIncomplete)
	}
}

func resolved(t *testing.T, path string) string {
	t.Helper()
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		t.Fatal(err)
	}
	return real
}

func TestNotObserved(t *testing.T) {
	if r := must(t, tracerEngine{}, shell(t, "cat /etc/passwd"), Exited); r.Observed != nil || r.ObservedIncomplete != "" {
		t.Errorf("observed %v without being asked, %q", r.Observed, r.ObservedIncomplete)
	}
	s := shell(t, "exit 0")
	s.ObserveFiles = true
	if r := must(t, portableEngine{}, s, Exited); r.Observed == nil || len(r.Observed) != 0 || r.ObservedIncomplete == "" {
		t.Errorf("the portable engine observed %v, %q", r.Observed, r.ObservedIncomplete)
	}
	s.Path = "/no/such"
	if r := must(t, tracerEngine{}, s, StartFailed); r.Observed == nil || r.ObservedIncomplete == "" {
		t.Errorf("a program that did not start used %v, %q", r.Observed, r.ObservedIncomplete)
	}
}

// TestObservedImage checks what the kernel opens by itself.
func TestObservedImage(t *testing.T) {
	begun := time.Now()
	r, files := observe(t, shell(t, "exit 0"))
	complete(t, r)
	sh := files[resolved(t, "/bin/sh")]
	if !sh.Executed || !sh.Mapped || sh.Opened || sh.Write || sh.ByPath || sh.Kind != FileRegular {
		t.Errorf("the shell is %+v", sh)
	}
	if loader := interpreterOf("/bin/sh"); loader != "" {
		if l := files[resolved(t, loader)]; !l.Mapped || l.Executed || l.Opened || l.ByPath {
			t.Errorf("the loader is %+v", l)
		}
		// Before the program's first instruction, and not only at its end.
		if second := r.Observed[1].Path; second != resolved(t, loader) {
			t.Errorf("the second file is %s, not the loader", second)
		}
	}
	sameNow(t, r.Observed, begun)
}

func TestObservedScripts(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	inner := write("inner", "#!/bin/sh\nexit 0\n")
	outer := write("outer", "#!"+inner+"\n")
	unread := write("unread", "#!/bin/true\nnever read\n")
	run := func(path string) (*Result, map[string]ObservedFile) {
		return observe(t, Spec{Path: path, Args: []string{path}, ScratchParent: t.TempDir()})
	}

	r, files := run(outer)
	complete(t, r)
	for _, path := range []string{inner, outer, "/bin/sh"} {
		if f := files[resolved(t, path)]; !f.Executed || f.Kind != FileRegular {
			t.Errorf("%s is %+v", path, f)
		}
	}
	if f := files[resolved(t, inner)]; !f.Opened || f.ByPath {
		t.Errorf("the script that sh read is %+v", f)
	}
	r, files = run(unread)
	complete(t, r)
	if f := files[resolved(t, unread)]; !f.Executed || f.Opened || !f.ByPath {
		t.Errorf("the script that nothing read is %+v", f)
	}

	s := shell(t, "mkdir d; cp \"$1\" d/s; cd d; ./s; ../d/s", inner)
	_, files = observe(t, s)
	if f := files[ScratchVar+"/d/s"]; !f.Executed || !f.Opened || !f.Write || f.ByPath {
		t.Errorf("a script by a relative path is %+v", f)
	}
	_, files = observe(t, self(t, "files", "fexecve", inner, "x"))
	if f := files[resolved(t, inner)]; !f.Executed || !f.Opened {
		t.Errorf("a script by descriptor is %+v", f)
	}
}

func TestObservedKinds(t *testing.T) {
	_, files := observe(t, shell(t, `mkfifo p; (echo x > p) & cat p; cat /dev/null /proc/self/stat > new; ls . > /dev/null; : < "$1"`, "/etc/passwd"))
	for path, want := range map[string]FileKind{
		ScratchVar + "/p": FilePipe, "/dev/null": FileDevice, ScratchVar + "/new": FileRegular, ScratchVar: FileDirectory, "/etc/passwd": FileRegular,
	} {
		if f, ok := files[path]; !ok || f.Kind != want {
			t.Errorf("%s is %+v, want kind %s", path, f, want)
		}
	}
	if f := files[ScratchVar+"/new"]; !f.Write || !f.Opened {
		t.Errorf("a new file is %+v", f)
	}
	if f := files["/etc/passwd"]; f.Write || f.Asked != "" {
		t.Errorf("a file that was read is %+v", f)
	}
	pseudo := 0
	for path, f := range files {
		if strings.HasPrefix(path, "/proc/") && f.Kind == FilePseudo {
			pseudo++
		}
	}
	if pseudo == 0 {
		t.Error("no pseudo file in /proc")
	}
}

func TestObservedUncommonOpens(t *testing.T) {
	_, files := observe(t, self(t, "files", "path-only"))
	if f := files[ScratchVar+"/link"]; f.Kind != FileLink || !f.Opened || f.Write {
		t.Errorf("a link that was opened itself is %+v", f)
	}
	r, files := observe(t, self(t, "files", "unnamed"))
	memory, unnamed := false, false
	for _, f := range r.Observed {
		memory = memory || f.Kind == FileMemory && f.Path == "/memfd:held" && f.Write
		unnamed = unnamed || f.Kind == FileRegular && f.Deleted && strings.HasPrefix(f.Path, ScratchVar+"/#")
	}
	if !memory || !unnamed {
		t.Errorf("files without a name: in memory %v, in the directory %v: %v", memory, unnamed, files)
	}
	_, files = observe(t, self(t, "files", "memfd", "/bin/true"))
	if f := files["/memfd:program"]; f.Kind != FileMemory || !f.Executed || !f.Mapped || f.Size == 0 {
		t.Errorf("an image in memory is %+v", f)
	}
	_, files = observe(t, self(t, "files", "openat2"))
	if a, b := files[ScratchVar+"/two"], files[ScratchVar+"/two-new"]; a.Asked != "two" || !b.Opened || !b.Write {
		t.Errorf("opened with openat2: %+v, %+v", a, b)
	}
	r, files = observe(t, self(t, "files", "handle"))
	complete(t, r)
	if _, ok := files["/etc/passwd"]; ok || !strings.Contains(string(r.Stdout), "operation not") {
		t.Errorf("a file was opened by handle: %s", r.Stdout)
	}
	r, files = observe(t, self(t, "files", "renamed"))
	complete(t, r)
	for path, deleted := range map[string]bool{
		"/first": false, "/moved": true, "/odd (deleted)": false, "/other": false,
	} {
		if f, ok := files[ScratchVar+path]; !ok || f.Deleted != deleted {
			t.Errorf("%s is %+v, want deleted %v", path, f, deleted)
		}
	}
}

// TestObservedTakesTheDescriptor swaps what a path leads to while it is opened:
// each content must be seen under the numbers of the file that had it.
func TestObservedTakesTheDescriptor(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "file")
	stop := make(chan struct{})
	swapped := make(chan error, 1)
	next := func(i int) error {
		name := filepath.Join(dir, fmt.Sprint("next", i%4))
		if err := os.WriteFile(name, make([]byte, i%1000), 0o644); err != nil {
			return err
		}
		return os.Rename(name, path)
	}
	if err := next(0); err != nil {
		t.Fatal(err)
	}
	go func() {
		for i := 1; ; i++ {
			select {
			case <-stop:
				swapped <- nil
				return
			default:
			}
			if err := next(i); err != nil {
				swapped <- err
				return
			}
		}
	}()
	r, _ := observe(t, Spec{
		Path: need(t, "/usr/bin/python3"), ScratchParent: t.TempDir(), Args: []string{"python3", "-Ic", `
import os, sys
for i in range(300):
    fd = os.open(sys.argv[1], os.O_RDONLY)
    s = os.fstat(fd)
    print(s.st_ino, s.st_size)
    os.close(fd)`, path},
	})
	close(stop)
	if err := <-swapped; err != nil {
		t.Fatal(err)
	}
	complete(t, r)
	seen := map[uint64]bool{}
	for _, f := range r.Observed {
		if strings.HasPrefix(f.Path, dir) {
			seen[f.Ino] = true
		}
	}
	got := map[uint64]bool{}
	for _, line := range lines(r.Stdout) {
		var ino uint64
		var size int64
		if _, err := fmt.Sscan(line, &ino, &size); err != nil {
			t.Fatal(err)
		}
		got[ino] = true
	}
	if diff := cmp.Diff(got, seen); diff != "" {
		t.Errorf("inodes (-the program's own +observed):\n%s", diff)
	}
}

// TestObservedChange changes a file between two uses.
func TestObservedChange(t *testing.T) {
	_, files := observe(t, shell(t, `echo a > a; echo b > b; cat a a b; echo a >> a; cat b`))
	if a, b := files[ScratchVar+"/a"], files[ScratchVar+"/b"]; !a.Changed || a.Size != 0 || !b.Changed {
		t.Errorf("files that were written: %+v, %+v", a, b)
	}
	if f := files[resolved(t, "/bin/cat")]; f.Changed {
		t.Errorf("a file that was only read: %+v", f)
	}
}

func TestObservedFailures(t *testing.T) {
	few, _ := observe(t, shell(t, `:`))
	many, _ := observe(t, shell(t, `for i in 1 2 3 4 5 6 7 8 9 10; do (: < /none) 2>/dev/null; done; :`))
	if n := many.ObservedFailed - few.ObservedFailed; n != 10 {
		t.Errorf("%d more openings failed, want 10", n)
	}
}

// TestObservedSignals interrupts an opening again and again; what the program
// sees must not change.
func TestObservedSignals(t *testing.T) {
	r, files := observe(t, self(t, "files", "signals", "fifo"))
	complete(t, r)
	if f := files[ScratchVar+"/fifo"]; f.Kind != FilePipe || !f.Opened || string(r.Stdout) != "true\n" {
		t.Errorf("the FIFO is %+v, output %q", f, r.Stdout)
	}
	if calm, _ := observe(t, self(t, "files", "relative")); calm.ObservedFailed != r.ObservedFailed {
		t.Errorf("%d openings failed, %d without signals", r.ObservedFailed, calm.ObservedFailed)
	}
	python := need(t, "/usr/bin/python3")
	r, _ = observe(t, Spec{Path: python, ScratchParent: t.TempDir(), Args: []string{"python3", "-Ic", `
import os, signal, threading, time
os.mkfifo("f")
hits = []
signal.signal(signal.SIGALRM, lambda *a: hits.append(1))
signal.setitimer(signal.ITIMER_REAL, 0.005, 0.005)
def late():
    while len(hits) < 5: time.sleep(0.005)
    open("f", "w").close()
t = threading.Thread(target=late)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
t.start()
signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGALRM])
open("f").close()
signal.setitimer(signal.ITIMER_REAL, 0)
t.join()
print(len(hits) >= 5)`}})
	complete(t, r)
	if string(r.Stdout) != "True\n" {
		t.Errorf("output %q, errors %q", r.Stdout, r.Stderr)
	}
}

// TestObservedKilledInACall ends runs whose tasks are inside an opening.
func TestObservedKilledInACall(t *testing.T) {
	s := shell(t, `mkfifo f; cat f & cat f & echo ready; cat f`)
	s.ObserveFiles, s.Limits.Wall = true, 300*time.Millisecond
	must(t, tracerEngine{}, s, TimedOut)
	s = shell(t, `mkfifo f; cat f & p=$!; sleep 0.1; kill -KILL $p; wait $p; echo $?; cat f & p=$!; sleep 0.1; kill -STOP $p; kill -CONT $p; kill $p; wait $p; echo $?`)
	r, _ := observe(t, s)
	complete(t, r)
	if string(r.Stdout) != "137\n143\n" {
		t.Errorf("output %q, errors %q", r.Stdout, r.Stderr)
	}
	// The program ends while a descendant waits in an opening.
	must(t, tracerEngine{}, shell(t, `mkfifo f; cat f & exit 0`), Exited)
}

// TestOwnFilters runs programs that have a filter of their own: each must see
// what it sees untraced.
func TestOwnFilters(t *testing.T) {
	for kind, want := range map[string]string{
		"trace": fmt.Sprintln(0, int(unix.ENOSYS), false),
		"other": fmt.Sprintln(int(unix.ENOSYS), 0, true),
		"errno": fmt.Sprintln(0, int(unix.ETXTBSY), false),
	} {
		t.Run(kind, func(t *testing.T) {
			s := self(t, "files", "filter", kind)
			if r := must(t, tracerEngine{}, s, Exited); string(r.Stdout) != want {
				t.Errorf("not observed: output %q, want %q, errors %q", r.Stdout, want, r.Stderr)
			}
			r, files := observe(t, s)
			complete(t, r)
			if string(r.Stdout) != want {
				t.Errorf("observed: output %q, want %q, errors %q", r.Stdout, want, r.Stderr)
			}
			if _, ok := files["/etc/passwd"]; ok != (kind == "other") {
				t.Errorf("/etc/passwd among the files: %v", ok)
			}
		})
	}
	t.Run("listener", func(t *testing.T) {
		r, _ := observe(t, self(t, "files", "filter", "listener"))
		if !strings.Contains(r.ObservedIncomplete, "listener") {
			t.Errorf("incomplete is %q", r.ObservedIncomplete)
		}
	})
}

// TestNestedTracing checks that a program that traces is told the same whether or
// not it is observed.
func TestNestedTracing(t *testing.T) {
	program := needStrace(t)
	s := Spec{Path: program, Args: []string{"strace", "-o", ScratchVar + "/log", "/bin/true"}, ScratchParent: t.TempDir()}
	plain := must(t, tracerEngine{}, s, Exited)
	s.ObserveFiles = true
	watched := must(t, tracerEngine{}, s, Exited)
	number := func(r *Result) string {
		return strings.Map(func(c rune) rune {
			if c >= '0' && c <= '9' {
				return -1
			}
			return c
		}, string(r.Stderr))
	}
	if *plain.ExitCode != *watched.ExitCode || number(plain) != number(watched) {
		t.Errorf("exit %d and %d, errors %q and %q", *plain.ExitCode, *watched.ExitCode, plain.Stderr, watched.Stderr)
	}
}

// TestObservedThreads checks that no opening of many threads is missed.
func TestObservedThreads(t *testing.T) {
	r, files := observe(t, self(t, "files", "many", "8"))
	complete(t, r)
	for i := range 8 {
		for j := range 50 {
			if f := files[fmt.Sprintf("%s/%d-%d", ScratchVar, i, j)]; !f.Opened || !f.Write {
				t.Fatalf("file %d of thread %d is %+v", j, i, f)
			}
		}
	}
}

func TestObservedIsBounded(t *testing.T) {
	w := newWatcher(&job{observe: true, scratch: "/s"}, nil)
	for i := range maxObserved + 5 {
		w.note(ObservedFile{Path: "/f", Ino: uint64(i)})
	}
	if len(w.files) != maxObserved || len(w.reasons) != 1 {
		t.Errorf("%d files, reasons %q", len(w.files), w.reasons)
	}
	w = newWatcher(&job{observe: true, scratch: "/s"}, nil)
	long := strings.Repeat("x", 4096)
	for i := range 5000 {
		w.note(ObservedFile{Path: long, Ino: uint64(i)})
	}
	if w.bytes > maxObservedBytes || len(w.files) == 5000 || len(w.reasons) != 1 {
		t.Errorf("%d files, %d bytes, reasons %q", len(w.files), w.bytes, w.reasons)
	}
	w.note(ObservedFile{Path: long, Write: true, Size: 1, Mode: 1})
	if !w.files[0].Write {
		t.Error("a known file is not updated when the list is full")
	}
}

func TestObservedManyFiles(t *testing.T) {
	r, _ := observe(t, self(t, "files", "numbered", "3000"))
	complete(t, r)
	n := 0
	for _, f := range r.Observed {
		if strings.HasPrefix(f.Path, ScratchVar+"/f") {
			n++
		}
	}
	if n != 3000 {
		t.Errorf("%d files, want 3000", n)
	}
}

// TestObservedMappingsOfInherited checks that a file whose descriptor was never
// opened in the run is seen when it is mapped.
func TestObservedMappingsOfInherited(t *testing.T) {
	s := self(t, "files", "inherit")
	s.Stdin = []byte("given")
	r, _ := observe(t, s)
	found := false
	for _, f := range r.Observed {
		found = found || f.Mapped && !f.Opened && !f.Executed && f.Deleted
	}
	if !found {
		t.Errorf("no mapping of standard input among %+v", r.Observed)
	}
}

// TestObservedUndumpable is a process that only root may look into.
func TestObservedUndumpable(t *testing.T) {
	if os.Geteuid() == 0 {
		testenv.Skip(t, "unprivileged", "root may look into every process")
	}
	r, _ := observe(t, self(t, "files", "undumpable"))
	if !strings.Contains(r.ObservedIncomplete, "may not be looked into") {
		t.Errorf("incomplete is %q", r.ObservedIncomplete)
	}
}

func TestWithoutDeleted(t *testing.T) {
	for _, tt := range []struct {
		path            string
		unlinked, leads bool
		want            string
		deleted         bool
	}{
		{"/a", false, true, "/a", false},
		{"/a", true, false, "/a", false},
		{"/a (deleted)", true, false, "/a", true},
		{"/a (deleted)", true, true, "/a", true},
		{"/a (deleted)", false, true, "/a (deleted)", false},
		{"/a (deleted)", false, false, "/a", true},
		{"/a (deleted) (deleted)", true, false, "/a (deleted)", true},
	} {
		got, deleted := withoutDeleted(tt.path, tt.unlinked, func(string) bool { return tt.leads })
		if got != tt.want || deleted != tt.deleted {
			t.Errorf("withoutDeleted(%q, %v, %v) = %q, %v", tt.path, tt.unlinked, tt.leads, got, deleted)
		}
	}
}

func TestMappedFile(t *testing.T) {
	for _, tt := range []struct{ line, span, rest string }{
		{"55d0-55d4 r--p 00000000 fe:00 247072                     /usr/bin/dash", "55d0-55d4", "fe:00 247072                     /usr/bin/dash"},
		{"7f00-7f01 rw-p 00000000 00:00 0 ", "", ""},
		{"7f00-7f01 r-xp 00000000 00:00 0                          [vdso]", "", ""},
		{"7f00-7f01 rw-s 00000000 00:01 1024                       /dev/zero (deleted)", "", ""},
		{"7f00-7f01 rw-s 00000000 00:01 1024                       /memfd:x (deleted)", "7f00-7f01", "00:01 1024                       /memfd:x (deleted)"},
		{"7f00-7f01 rw-s 00000000 00:0f 2                          anon_inode:[perf_event]", "", ""},
		{"", "", ""},
	} {
		span, rest, ok := mappedFile([]byte(tt.line))
		if string(span) != tt.span || string(rest) != tt.rest || ok != (tt.span != "") {
			t.Errorf("mappedFile(%q) = %q, %q, %v", tt.line, span, rest, ok)
		}
	}
}

// TestMappingByPath is what an ordinary user does for a mapping.
func TestMappingByPath(t *testing.T) {
	w := newWatcher(&job{observe: true, scratch: "/none"}, nil)
	var st unix.Stat_t
	if err := unix.Stat("/etc/passwd", &st); err != nil {
		t.Fatal(err)
	}
	line := func(ino uint64, path string) string {
		return fmt.Sprintf("%02x:%02x %d %s", unix.Major(st.Dev), unix.Minor(st.Dev), ino, path)
	}
	f, err := w.lookMapped(os.Getpid(), line(st.Ino, "/etc/passwd"))
	if err != nil || f.Ino != st.Ino || f.Dev != st.Dev || f.Size != st.Size || f.ByPath {
		t.Errorf("the file itself: %+v, %v", f, err)
	}
	f, err = w.lookMapped(os.Getpid(), line(st.Ino+1, "/etc/passwd"))
	if err != nil || f.Ino != st.Ino+1 || f.Size != 0 || !f.ByPath {
		t.Errorf("a file in whose place is another: %+v, %v", f, err)
	}
	f, err = w.lookMapped(os.Getpid(), line(7, "/etc/gone (deleted)"))
	if err != nil || f.Path != "/etc/gone" || f.Ino != 7 || !f.Deleted || !f.ByPath {
		t.Errorf("a file without a name: %+v, %v", f, err)
	}
}
