package probe

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// measured reads the file at path and returns its identity when its content is
// want, as one who measures before a run does.
func measured(t *testing.T, path string, want []byte) (Expectation, bool) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		return Expectation{}, false
	}
	defer file.Close()
	var before, after unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &before); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(want)+1)
	n, _ := file.Read(got)
	if err := unix.Fstat(int(file.Fd()), &after); err != nil {
		t.Fatal(err)
	}
	same := before.Ctim == after.Ctim && before.Size == after.Size
	return Expectation{Dev: uint64(after.Dev), Ino: after.Ino, Size: after.Size, CtimeNS: after.Ctim.Nano(), Path: path},
		same && bytes.Equal(got[:n], want)
}

// TestSwapAttack replaces the program in a tight loop while it is measured and
// run. What was not measured must never run once; what was measured sometimes
// does, or the test would prove nothing.
func TestSwapAttack(t *testing.T) {
	good, err := os.ReadFile("/bin/true")
	if err != nil {
		t.Fatal(err)
	}
	for name, prepare := range map[string]func(t *testing.T, bad []byte) (path string, swap func(i int)){
		"link to another file":      swapLink(good),
		"link in a parent":          swapParent(good),
		"rename over the path":      swapRename(good),
		"write in place and back":   swapWrite(good),
		"link to a missing program": swapMissing(good),
	} {
		t.Run(name, func(t *testing.T) {
			marker := filepath.Join(t.TempDir(), "ran")
			path, swap := prepare(t, []byte("#!/bin/sh\necho ran\n"))
			var quit atomic.Bool
			var wg sync.WaitGroup
			wg.Go(func() {
				for i := 0; !quit.Load(); i++ {
					swap(i)
				}
			})
			ends := map[Outcome]int{}
			for begin := time.Now(); time.Since(begin) < 1500*time.Millisecond; {
				want, ok := measured(t, path, good)
				if !ok {
					continue
				}
				r, err := runWith(t.Context(), Spec{Path: path, Args: []string{"true", marker}, Expect: &want}, tracerEngine{})
				if err != nil {
					t.Error(err)
					break
				}
				ends[r.Outcome]++
				if len(r.Stdout) > 0 || r.Outcome == Exited && !r.Expectation.Matched {
					t.Errorf("unmeasured bytes ran: %v %q", r.Outcome, r.Stdout)
				}
			}
			quit.Store(true)
			wg.Wait()
			t.Log(ends)
			if ends[Exited]+ends[IdentityChanged]+ends[StartFailed] == 0 {
				t.Error("nothing was run")
			}
			for o := range ends {
				if o != Exited && o != IdentityChanged && o != StartFailed {
					t.Errorf("%d runs ended %v", ends[o], o)
				}
			}
		})
	}
}

func file(t *testing.T, dir, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, data, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// relink makes path a link to target in one step.
func relink(path, target string, i int) {
	temporary := path + strconv.Itoa(i%4)
	_ = os.Remove(temporary)
	if os.Symlink(target, temporary) == nil {
		_ = os.Rename(temporary, path)
	}
}

func swapLink(good []byte) func(*testing.T, []byte) (string, func(int)) {
	return func(t *testing.T, bad []byte) (string, func(int)) {
		dir := t.TempDir()
		targets := []string{file(t, dir, "good", good), file(t, dir, "bad", bad)}
		path := filepath.Join(dir, "program")
		return path, func(i int) { relink(path, targets[i%2], i) }
	}
}

func swapParent(good []byte) func(*testing.T, []byte) (string, func(int)) {
	return func(t *testing.T, bad []byte) (string, func(int)) {
		dir := t.TempDir()
		targets := []string{filepath.Join(dir, "a"), filepath.Join(dir, "b")}
		for i, data := range [][]byte{good, bad} {
			if err := os.Mkdir(targets[i], 0o755); err != nil {
				t.Fatal(err)
			}
			file(t, targets[i], "program", data)
		}
		parent := filepath.Join(dir, "parent")
		return filepath.Join(parent, "program"), func(i int) { relink(parent, targets[i%2], i) }
	}
}

func swapRename(good []byte) func(*testing.T, []byte) (string, func(int)) {
	return func(t *testing.T, bad []byte) (string, func(int)) {
		dir := t.TempDir()
		path := filepath.Join(dir, "program")
		return path, func(i int) {
			if os.WriteFile(path+".new", [][]byte{good, bad}[i%2], 0o755) == nil {
				_ = os.Rename(path+".new", path)
			}
			time.Sleep(time.Duration(i%3) * time.Millisecond)
		}
	}
}

// swapWrite changes the bytes in the file itself, at the same length, and puts
// the times back that can be put back.
func swapWrite(good []byte) func(*testing.T, []byte) (string, func(int)) {
	return func(t *testing.T, bad []byte) (string, func(int)) {
		path := file(t, t.TempDir(), "program", good)
		other := append(bytes.Clone(bad), good[len(bad):]...)
		when := time.Unix(1_000_000_000, 0)
		return path, func(i int) {
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				return // it is being executed
			}
			_, _ = f.WriteAt([][]byte{other, good}[i%2][:len(bad)], 0)
			_ = f.Close()
			_ = os.Chtimes(path, when, when)
			time.Sleep(time.Duration(i%5) * time.Millisecond)
		}
	}
}

func swapMissing(good []byte) func(*testing.T, []byte) (string, func(int)) {
	return func(t *testing.T, _ []byte) (string, func(int)) {
		dir := t.TempDir()
		targets := []string{file(t, dir, "good", good), filepath.Join(dir, "none")}
		path := filepath.Join(dir, "program")
		return path, func(i int) { relink(path, targets[i%2], i) }
	}
}
