package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/provider-measure/provider-measure/internal/testenv"
)

// nobody is an ordinary user that owns nothing else on the host.
const nobody = 65534

// asNobody gives the sandbox to nobody, with a copy of the program that nobody
// can start: the test's own binary may be in a folder that is closed to others.
func (s *sandbox) asNobody(t testing.TB) invocation {
	t.Helper()
	if os.Geteuid() != 0 {
		return invocation{dir: s.dir, env: s.env} // an ordinary user already
	}
	data, err := os.ReadFile(commandPath(t))
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(s.dir, programName)
	if err := os.WriteFile(program, data, 0o755); err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(s.dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, nobody, nobody)
	})
	if err != nil {
		t.Fatal(err)
	}
	for dir := filepath.Dir(s.dir); ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm()&0o005 != 0o005 {
			testenv.Skip(t, "tmpdir", dir+" is closed to other users")
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return invocation{dir: s.dir, env: s.env, path: program, as: &syscall.Credential{Uid: nobody, Gid: nobody, NoSetGroups: false}}
}

func TestOrdinaryUser(t *testing.T) {
	s := newSandbox(t, false)
	user := s.asNobody(t)

	user.args = []string{"tool.answer", "--providers", s.tool, "--runs", "2"}
	r := user.run(t)
	r.want(t, exitGood)
	record := decoded(t, r.stdout)
	for _, pointer := range []string{"/installed_size/status", "/cold_start/status", "/reproduction_case/status"} {
		if got := at(t, record, pointer); got != "COMPLETED" {
			t.Errorf("%s is %s", pointer, got)
		}
	}
	if bytes := at(t, record, "/cold_start/peak_rss_bytes/bytes"); bytes == "null" || bytes == "0" {
		t.Errorf("peak memory is %s", bytes)
	}

	user.args = []string{"doctor", "--python", "/nowhere"}
	user.run(t).want(t, exitGood)
	s.emptyTmp(t)
}

// What may not be read could not be determined.
func TestUnreadable(t *testing.T) {
	s := newSandbox(t, false)
	secret := filepath.Join(s.tool, "secret")
	if err := os.WriteFile(secret, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	user := s.asNobody(t)
	if err := os.Chmod(secret, 0); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"digest", "executable", secret}, {"digest", "tree", s.tool}} {
		user.args = args
		r := user.run(t)
		r.want(t, exitUnknown)
		if e := r.failure(t); e.Code != "digest.permission_denied" || text(e.Path) != secret || r.stdout != "" {
			t.Errorf("%v: %s%s", args, r.stdout, r.stderr)
		}
	}
}

// Without a place for scratch folders nothing can be determined, and that is said.
func TestNoScratch(t *testing.T) {
	readOnly := func(t *testing.T, s *sandbox) invocation {
		user := s.asNobody(t)
		if err := os.Chmod(s.tmp, 0o555); err != nil {
			t.Fatal(err)
		}
		return user
	}
	for _, c := range []struct {
		name string
		make func(*testing.T, *sandbox) invocation
	}{
		{"read-only", readOnly},
		{"gone", func(t *testing.T, s *sandbox) invocation {
			if err := os.Remove(s.tmp); err != nil {
				t.Fatal(err)
			}
			return invocation{dir: s.dir, env: s.env}
		}},
		{"a file", func(t *testing.T, s *sandbox) invocation {
			if err := os.Remove(s.tmp); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(s.tmp, nil, 0o644); err != nil {
				t.Fatal(err)
			}
			return invocation{dir: s.dir, env: s.env}
		}},
		{"full", fullFolder},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSandbox(t, false)
			run := c.make(t, s)
			for _, args := range [][]string{
				{"tool.answer", "--providers", s.tool, "--runs", "1"},
				{"identify", "tool", "--providers", s.tool},
			} {
				run.args = args
				r := run.run(t)
				r.want(t, exitUnknown)
				e := r.failure(t)
				if r.stdout != "" || !strings.Contains(r.stderr, s.tmp) {
					t.Errorf("%v: %s, without the folder's name: %s", args, e.Code, r.stderr)
				}
			}
			// What needs none works all the same.
			run.args = []string{"digest", "tree", s.tool}
			run.run(t).want(t, exitGood)
		})
	}
}

// fullFolder mounts a file system without room over the sandbox's TMPDIR.
func fullFolder(t *testing.T, s *sandbox) invocation {
	if os.Geteuid() != 0 {
		testenv.Skip(t, "root", "mounting needs root")
	}
	// One block and four inodes: the root, and little else.
	if err := unix.Mount("tmpfs", s.tmp, "tmpfs", 0, "size=4k,nr_inodes=2"); err != nil {
		testenv.Skip(t, "mount", "this host lets root mount nothing: "+err.Error())
	}
	t.Cleanup(func() {
		if err := unix.Unmount(s.tmp, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	if err := os.WriteFile(filepath.Join(s.tmp, "filler"), make([]byte, 4096), 0o644); err != nil {
		t.Fatal(err)
	}
	return invocation{dir: s.dir, env: s.env}
}

// An environment without anything is one.
func TestEmptyEnvironment(t *testing.T) {
	s := newSandbox(t, true)
	s.env = []string{"TMPDIR=" + s.tmp}
	r := s.call(t, "tool.answer", "--providers", s.tool, "--runs", "1")
	r.want(t, exitGood)
	r = s.call(t, "demo.multiply", "--providers", s.demo, "--python", s.python, "--runs", "1")
	r.want(t, exitGood)
	r = s.call(t, "doctor")
	r.want(t, exitGood)
	if got := at(t, decoded(t, r.stdout), "/python/problem"); !strings.Contains(got, "python3 is not on PATH") {
		t.Errorf("problem %q", got)
	}
	r = s.call(t, "sat.solve")
	r.want(t, exitFinding)
	if e := r.failure(t); e.Code != "UNAVAILABLE" || text(e.Reason) != "provider.executable_missing" {
		t.Errorf("%s", r.stderr)
	}
	s.emptyTmp(t)
}

// The host's environment does not reach what is printed.
func TestEnvironmentStaysOut(t *testing.T) {
	s := newSandbox(t, true)
	s.env = append(s.env, "HIDDEN_MARK=do-not-print-me", "PYTHONPATH=/do-not-print-me", "LD_PRELOAD_MARK=do-not-print-me")
	for _, args := range [][]string{
		{"demo.multiply", "--providers", s.demo, "--runs", "1"},
		{"doctor", "--providers", s.demo},
		{"identify", "demo", "--providers", s.demo},
	} {
		r := s.call(t, args...)
		r.want(t, exitGood)
		if strings.Contains(r.stdout+r.stderr, "do-not-print-me") {
			t.Errorf("%v prints the host's environment", args)
		}
	}
}

// Commands that run at once do not disturb each other.
func TestAtOnce(t *testing.T) {
	s := newSandbox(t, true)
	commands := [][]string{
		{"demo.multiply", "--providers", s.demo, "--runs", "3"},
		{"tool.answer", "--providers", s.tool, "--runs", "3"},
		{"demo.multiply", "--providers", s.demo, "--runs", "3"},
		{"catalog", "--providers", s.demo},
	}
	results := make([]result, len(commands))
	var wait sync.WaitGroup
	for i, args := range commands {
		wait.Go(func() { results[i] = s.call(t, args...) })
	}
	wait.Wait()
	for i, r := range results {
		if r.status != exitGood {
			t.Errorf("%v: exit status %d: %s", commands[i], r.status, r.stderr)
		}
		decoded(t, r.stdout)
	}
	s.emptyTmp(t)
}
