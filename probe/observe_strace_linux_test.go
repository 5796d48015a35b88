package probe

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/provider-measure/provider-measure/internal/testenv"
)

// straced is what strace saw of a program.
type straced struct {
	opened   map[string]bool // what the descriptors that were opened referred to
	executed map[string]bool // the paths that were executed
	failed   int
}

// traceCalls are the system calls that strace is asked for.
const traceCalls = "?open,?creat,openat,openat2,open_by_handle_at,execve,execveat"

func needStrace(t *testing.T) string {
	t.Helper()
	program, err := exec.LookPath("strace")
	if err != nil {
		testenv.Skip(t, "strace", "strace is not installed")
	}
	return program
}

// strace runs s under strace instead of probe, with the same environment, in a
// directory of its own.
func strace(t *testing.T, s Spec) straced {
	t.Helper()
	program := needStrace(t)
	dir, err := makeScratch(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	env, err := s.Env.compose(dir)
	if err != nil {
		t.Fatal(err)
	}
	args, err := expandArgs(s.Args, dir)
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(t.TempDir(), "log")
	cmd := exec.CommandContext(t.Context(), program, append([]string{
		"-f", "-y", "-qq", "-s", "4096", "-e", "signal=none", "-e", "trace=" + traceCalls, "-o", log, "--", s.Path,
	}, args[1:]...)...)
	cmd.Dir, cmd.Env = dir, env.list
	if s.Stdin != nil {
		cmd.Stdin = bytes.NewReader(s.Stdin)
	}
	out, err := cmd.CombinedOutput()
	if err != nil && bytes.Contains(out, []byte("PTRACE_TRACEME")) {
		testenv.Skip(t, "ptrace", "this host refuses ptrace to strace")
	}
	if err != nil {
		t.Fatalf("strace: %v\n%s", err, out)
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	return readStrace(t, string(text), dir)
}

// readStrace reads strace's log. A line is "PID call(arguments) = result"; one
// that another thread's interrupts is in two parts, "PID call(… <unfinished ...>"
// and "PID <... call resumed>… = result".
func readStrace(t *testing.T, text, dir string) straced {
	t.Helper()
	seen := straced{opened: map[string]bool{}, executed: map[string]bool{}}
	result := regexp.MustCompile(`\) += (-?\d+)(?:<(.*)>(\(deleted\))?)?(?: E[A-Z]+ .*)?$`)
	changed := regexp.MustCompile(`^(.*)<pid changed to (\d+) \.\.\.>$`)
	image := regexp.MustCompile(`execve\("((?:[^"\\]|\\.)*)"`)
	unfinished := map[string]string{}
	for line := range strings.Lines(text) {
		pid, call, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		call = strings.TrimLeft(call, " ")
		if head, ok := strings.CutSuffix(call, "<unfinished ...>"); ok {
			unfinished[pid] = head
			continue
		}
		if m := changed.FindStringSubmatch(call); m != nil { // an exec from a thread
			unfinished[m[2]] = m[1]
			continue
		}
		if _, tail, ok := strings.Cut(call, " resumed>"); ok && strings.HasPrefix(call, "<... ") {
			call = unfinished[pid] + tail
			delete(unfinished, pid)
		}
		if strings.HasPrefix(call, "???") || strings.HasPrefix(call, "+++") || strings.HasPrefix(call, "---") {
			continue
		}
		m := result.FindStringSubmatch(call)
		if m == nil {
			if !strings.Contains(call, ") = ?") {
				t.Fatalf("strace wrote %q", call)
			}
			continue
		}
		switch name, _, _ := strings.Cut(call, "("); {
		case name == "execve" && m[1] == "0":
			if x := image.FindStringSubmatch(call); x != nil {
				seen.executed[inScratch(x[1], dir)] = true
			}
		case strings.HasPrefix(name, "execve"):
		case m[2] != "":
			seen.opened[inScratch(m[2], dir)] = true
		default:
			seen.failed++
		}
	}
	return seen
}

func inScratch(path, dir string) string {
	if rest, ok := strings.CutPrefix(path, dir); ok && (rest == "" || rest[0] == '/') {
		return ScratchVar + rest
	}
	return path
}

// likeStrace runs s under probe and under strace and compares. vary are the parts
// of names that differ from run to run, such as random ones.
func likeStrace(t *testing.T, s Spec, vary ...string) *Result {
	t.Helper()
	s.ObserveFiles = true
	begun := time.Now()
	want := strace(t, s)
	r := must(t, tracerEngine{}, s, Exited)
	if *r.ExitCode != 0 || r.ObservedIncomplete != "" {
		t.Fatalf("exit code %d, incomplete %q\nstdout: %.400s\nstderr: %.400s", *r.ExitCode, r.ObservedIncomplete, r.Stdout, r.Stderr)
	}
	vary = append(vary, `/proc/\d+`, `/task/\d+`, `#\d+`)
	same := func(path string) string {
		for _, v := range vary {
			path = regexp.MustCompile(v).ReplaceAllString(path, "*")
		}
		return path
	}
	var opened, wanted []string
	for _, f := range r.Observed {
		if f.Opened {
			opened = append(opened, same(f.Path))
		}
	}
	for path := range want.opened {
		wanted = append(wanted, same(path))
	}
	if diff := cmp.Diff(unique(wanted), unique(opened)); diff != "" {
		t.Errorf("opened files (-strace +probe):\n%s", diff)
	}
	for path := range want.executed {
		if real, err := filepath.EvalSymlinks(path); err == nil && !slices.ContainsFunc(r.Observed, func(f ObservedFile) bool {
			return f.Executed && f.Path == real
		}) {
			t.Errorf("strace saw %s executed, and probe did not", real)
		}
	}
	sameNow(t, r.Observed, begun)
	return r
}

func unique(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// sameNow checks the numbers of all files that are still there, and that nobody on
// this machine has changed since begun.
func sameNow(t *testing.T, files []ObservedFile, begun time.Time) {
	t.Helper()
	for _, f := range files {
		var st unix.Stat_t
		if unix.Stat(f.Path, &st) != nil || f.Kind != FileRegular || f.Write || st.Ctim.Nano() >= begun.Add(-time.Second).UnixNano() {
			continue
		}
		now := ObservedFile{Dev: uint64(st.Dev), Ino: st.Ino, Size: st.Size, MtimeNS: st.Mtim.Nano(), CtimeNS: st.Ctim.Nano(), Mode: st.Mode} //nolint:unconvert // the type differs by processor
		then := ObservedFile{Dev: f.Dev, Ino: f.Ino, Size: f.Size, MtimeNS: f.MtimeNS, CtimeNS: f.CtimeNS, Mode: f.Mode}
		if diff := cmp.Diff(now, then); diff != "" {
			t.Errorf("%s (-now +observed):\n%s", f.Path, diff)
		}
		if f.ByPath && f.Opened {
			t.Errorf("%s was opened and is by path", f.Path)
		}
	}
}

func TestObservedLikeStrace(t *testing.T) {
	needStrace(t)
	script := func(t *testing.T, program, flag, text string) Spec {
		return Spec{
			Path: need(t, program), Args: []string{filepath.Base(program), flag, text}, ScratchParent: t.TempDir(),
			// With an arena for each thread, malloc opens a file of /proc now and then.
			Env: Environment{Path: []string{"/usr/bin", "/bin"}, Set: []string{"MALLOC_ARENA_MAX=1"}},
		}
	}
	for name, spec := range map[string]func(t *testing.T) Spec{
		"true": func(t *testing.T) Spec {
			return Spec{Path: "/bin/true", Args: []string{"true"}, ScratchParent: t.TempDir()}
		},
		"pipeline": func(t *testing.T) Spec {
			return shell(t, `ls -l /etc | sort | head -n 3 > out; cat out | wc -l > count`)
		},
		"subshells": func(t *testing.T) Spec {
			return shell(t, `for i in 1 2 3; do (cd /usr; cat /etc/passwd | (cd bin; cat < ../bin/env >/dev/null)) & done; wait`)
		},
		"not there":  func(t *testing.T) Spec { return shell(t, `cat /none 2>/dev/null; (. /etc/none) 2>/dev/null; true`) },
		"background": func(t *testing.T) Spec { return shell(t, `(echo a > one; cat one) & (echo b > two) & wait`) },
		"tar": func(t *testing.T) Spec {
			return shell(t, `mkdir d; echo 1 > d/a; ln -s a d/b; tar cf t.tar d; mkdir e; tar xf t.tar -C e; tar tf t.tar >/dev/null`)
		},
		"rename": func(t *testing.T) Spec {
			return shell(t, `echo a > a; exec 3<a; mv a b; echo c > a; cat <&3; cat a b; rm a b; cat /dev/fd/3`)
		},
		"perl": func(t *testing.T) Spec {
			return script(t, "/usr/bin/perl", "-e", `use POSIX; use File::Spec; open(F, "<", "/etc/passwd") or die; my @l = <F>; close F; print scalar(@l)`)
		},
		"python threads": func(t *testing.T) Spec {
			return script(t, "/usr/bin/python3", "-Ic", "import threading\nm=['json','decimal','email.message','sqlite3','ctypes','xml.dom.minidom','http.client','csv']\nt=[threading.Thread(target=__import__,args=(n,)) for n in m]\n[x.start() for x in t]\n[x.join() for x in t]")
		},
		"python processes": func(t *testing.T) Spec {
			return script(t, "/usr/bin/python3", "-Ic", "import subprocess\nfor i in range(3): subprocess.run(['cat','/etc/hostname','/etc/passwd'],stdout=subprocess.DEVNULL)")
		},
	} {
		t.Run(name, func(t *testing.T) { likeStrace(t, spec(t)) })
	}
}

// TestObservedToolsLikeStrace compares programs that make random names, or names
// with a time in them.
func TestObservedToolsLikeStrace(t *testing.T) {
	needStrace(t)
	t.Run("gcc", func(t *testing.T) {
		need(t, "/usr/bin/gcc")
		likeStrace(t, shell(t, `echo 'int main(void){return 0;}' > m.c; gcc -O1 -o m m.c && ./m`), `/cc\w{6}`)
	})
	t.Run("git", func(t *testing.T) {
		need(t, "/usr/bin/git")
		s := shell(t, `git init -q r && cd r && echo a > a && git add a && git commit -qm one && git log --oneline >/dev/null && git status -s`)
		s.Env.Set = []string{
			"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a", "GIT_CONFIG_NOSYSTEM=1",
			"MALLOC_ARENA_MAX=1", "GIT_AUTHOR_DATE=2020-01-01T00:00:00Z", "GIT_COMMITTER_DATE=2020-01-01T00:00:00Z",
		}
		likeStrace(t, s, `tmp_obj_\w{6}`, `/t\w{6}$`)
	})
	t.Run("go build", func(t *testing.T) {
		root, err := exec.Command("go", "env", "GOROOT").Output()
		if err != nil || testing.Short() {
			testenv.Skip(t, "program", "no go command, or -short")
		}
		s := shell(t, `export GOCACHE=$PWD/cache GOPATH=$PWD/path; mkdir m; cd m; printf 'module m\n' > go.mod
			printf 'package main\nfunc main() { println(1) }\n' > m.go; go build -p 1 -o m . && ./m`)
		s.Env.Path = append(s.Env.Path, filepath.Join(strings.TrimSpace(string(root)), "bin"))
		s.Env.Set = []string{"GOTOOLCHAIN=local", "GOFLAGS=-mod=mod", "CGO_ENABLED=0", "GOTELEMETRY=off", "GOPROXY=off"}
		likeStrace(t, s, `go-build\d+`, `/cache/[0-9a-f]{2}(/[0-9a-f]{64})?`, `tmp\d+`)
	})
}

func TestObservedHelpersLikeStrace(t *testing.T) {
	needStrace(t)
	for _, args := range [][]string{
		{"relative"},
		{"renamed"},
		{"openat2"},
		{"path-only"},
		{"unnamed"},
		{"memfd", "/bin/true"},
		{"fexecve", "/bin/cat", "/etc/passwd"},
		{"many", "8"},
		{"signals", "fifo"},
	} {
		t.Run(args[0], func(t *testing.T) { likeStrace(t, self(t, append([]string{"files"}, args...)...)) })
	}
	t.Run("exec from a thread", func(t *testing.T) { likeStrace(t, self(t, "exec-thread", "/bin/cat", "/etc/passwd")) })
}
