package probe

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// ballast holds n MiB while f runs, as a large host does.
func ballast(n int, f func()) {
	held := make([]byte, n<<20)
	for i := 0; i < len(held); i += 512 {
		held[i] = 1
	}
	f()
	runtime.KeepAlive(held)
}

// TestPeakIsNotTheHosts runs a small program under a large host: wait4's own
// figure would be the host's.
func TestPeakIsNotTheHosts(t *testing.T) {
	ballast(500, func() {
		for range 5 {
			r := must(t, tracerEngine{}, Spec{Path: "/bin/true", Args: []string{"true"}, ScratchParent: t.TempDir()}, Exited)
			if b := r.Memory.Process.Bytes; b == nil || *b < 100<<10 || *b > 4<<20 {
				t.Errorf("the peak of true is %v", show(r.Memory.Process))
			}
			if b := r.Memory.Tree.Bytes; b == nil || *b > 4<<20 {
				t.Errorf("the tree's peak of true is %v", show(r.Memory.Tree))
			}
			// The portable engine may have seen too little, but never the host's.
			r = must(t, portableEngine{}, Spec{Path: "/bin/true", Args: []string{"true"}, ScratchParent: t.TempDir()}, Exited)
			if b := r.Memory.Process.Bytes; b == nil && r.Memory.Process.Reason == "" || b != nil && *b > 4<<20 {
				t.Errorf("the portable peak of true is %v", show(r.Memory.Process))
			}
		}
	})
}

// TestPeakIsExact compares programs that hold a known amount, under a large
// host, in both orders.
func TestPeakIsExact(t *testing.T) {
	peak := func(mib string) int64 {
		r := must(t, tracerEngine{}, self(t, "alloc", mib, "0"), Exited)
		if r.Memory.Process.Bytes == nil {
			t.Fatalf("no figure: %s", r.Memory.Process.Reason)
		}
		return *r.Memory.Process.Bytes
	}
	ballast(200, func() {
		for _, order := range [][2]string{{"0", "64"}, {"64", "0"}} {
			first, second := peak(order[0]), peak(order[1])
			base, full := min(first, second), max(first, second)
			// The baseline of a Go program varies by some hundred KiB.
			if d := full - base - 64<<20; d < -2<<20 || d > 3<<20 {
				t.Errorf("64 MiB read as %d bytes above a baseline of %d", full-base, base)
			}
		}
	})
}

// TestPeakOfKilledAndShortChildren checks that they have figures too.
func TestPeakOfKilledAndShortChildren(t *testing.T) {
	s := self(t, "alloc", "64", "60000")
	s.Limits.Wall = time.Second
	r := must(t, tracerEngine{}, s, TimedOut)
	if b := r.Memory.Process.Bytes; b == nil || *b < 64<<20 || *b > 100<<20 {
		t.Errorf("the peak of a killed program is %v", show(r.Memory.Process))
	}
	if r.User+r.System <= 0 {
		t.Error("no CPU time of a killed program")
	}
}

// TestSharedPagesCountOnce holds 80 MiB and forks five times: summing resident
// sets would read 480 MiB.
func TestSharedPagesCountOnce(t *testing.T) {
	python := need(t, "/usr/bin/python3")
	r := must(t, tracerEngine{}, Spec{Path: python, Args: []string{"python3", "-I", "-c", `
import os, time
x = bytearray(80 << 20)
for _ in range(5):
    if os.fork() == 0:
        time.sleep(0.5); os._exit(0)
for _ in range(5): os.wait()
`}, ScratchParent: t.TempDir()}, Exited)
	if b := r.Memory.Tree.Bytes; b == nil || *b < 80<<20 || *b > 130<<20 {
		t.Errorf("the tree's peak is %v", show(r.Memory.Tree))
	}
}

func TestCPULimitOfTheTree(t *testing.T) {
	for name, script := range map[string]string{
		"one":             `while :; do :; done`,
		"a child":         `sh -c 'while :; do :; done'; exit 0`,
		"many short":      `while :; do sh -c 'i=0; while [ $i -lt 2000 ]; do i=$((i + 1)); done'; done`,
		"in a session":    `setsid sh -c 'while :; do :; done' & wait`,
		"signals ignored": `trap '' XCPU TERM; while :; do :; done`,
	} {
		t.Run(name, func(t *testing.T) {
			s := shell(t, script)
			s.Limits.CPU = 300 * time.Millisecond
			r := must(t, tracerEngine{}, s, CPULimitExceeded)
			if used := r.User + r.System; used < s.Limits.CPU || used > s.Limits.CPU+time.Second {
				t.Errorf("used %v of %v", used, s.Limits.CPU)
			}
		})
	}
	s := shell(t, "while :; do :; done")
	s.Limits.CPU = 300 * time.Millisecond
	must(t, portableEngine{}, s, CPULimitExceeded)
}

func TestMemoryLimitOfTheTree(t *testing.T) {
	python := need(t, "/usr/bin/python3")
	each(t, func(t *testing.T, e engine) {
		s := self(t, "alloc", "300", "60000")
		s.Limits.Memory = 150 << 20
		must(t, e, s, MemoryLimitExceeded)

		// Three processes that are each below the limit.
		s = Spec{Path: python, Args: []string{"python3", "-I", "-c", `
import os, time
for _ in range(3): pid = os.fork()
x = bytearray(60 << 20)
time.sleep(60)
`}, ScratchParent: t.TempDir()}
		s.Limits.Memory = 150 << 20
		must(t, e, s, MemoryLimitExceeded)

		s = self(t, "alloc", "50", "100")
		s.Limits.Memory = 150 << 20
		must(t, e, s, Exited)
	})
}

func TestCPUTimesAndCounters(t *testing.T) {
	// A parent that waits, and children that use user time.
	r := must(t, tracerEngine{}, shell(t, `for j in 1 2 3; do sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done'; done`), Exited)
	if total := r.User + r.System; r.User < r.System || total < 20*time.Millisecond || total > r.Wall*time.Duration(runtime.NumCPU())+50*time.Millisecond {
		t.Errorf("user %v, system %v, wall %v", r.User, r.System, r.Wall)
	}
	// It is counted once: a shell that waits has its children's time in its own.
	direct := must(t, tracerEngine{}, shell(t, `i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done`), Exited)
	if ratio := float64(r.User+r.System) / float64(direct.User+direct.System); ratio > 1.8 {
		t.Errorf("three children of a third each used %v, one program %v", r.User+r.System, direct.User+direct.System)
	}
	if c := r.Counters; c == nil || c.MinorFaults < 100 || c.VoluntarySwitches < 4 || c.Method == "" {
		t.Errorf("counters are %+v", c)
	}
}

// TestReadAndWritten counts what a tree reads and writes: each process once,
// though its parent waited for it, and each thread.
func TestReadAndWritten(t *testing.T) {
	const size = 3 << 20
	count := func(script string) *IOCounters {
		r := must(t, tracerEngine{}, shell(t, script), Exited)
		if r.Counters.IO == nil {
			t.Fatalf("no counters: %s", r.Counters.IOReason)
		}
		return r.Counters.IO
	}
	base := count("(:); sh -c ':'")
	c := count("(head -c 3145728 /dev/zero > f); sh -c 'cat f > /dev/null; cat f > /dev/null'")
	for name, n := range map[string][2]int64{
		"read":    {c.Read - base.Read, 3 * size},
		"written": {c.Written - base.Written, 3 * size},
	} {
		if got, want := n[0], n[1]; got < want || got > want+size/4 {
			t.Errorf("%d bytes %s, want %d", got, name, want)
		}
	}
	if c.Method == "" || base.Written > 1<<16 {
		t.Errorf("%+v, of nothing %+v", c, base)
	}
	// A process that ends before it can be looked at makes it unknown.
	a := account{live: map[int]*process{}}
	a.remove(a.add(1), &unix.Rusage{})
	if c, why := a.ioCounters(); c != nil || why == "" {
		t.Errorf("of a process that was not seen: %+v", c)
	}
	a.ioUnknown = unix.ENOENT
	if _, why := a.ioCounters(); why != string(errNoTaskIO) {
		t.Errorf("reason is %q", why)
	}
}
