package probe

import (
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
)

// TestStress makes many hostile runs from many goroutines, each ended in another
// way, and counts what survives. PROBE_STRESS sets their number.
func TestStress(t *testing.T) {
	need(t, "setsid")
	runs := 150
	if n, err := strconv.Atoi(os.Getenv("PROBE_STRESS")); err == nil {
		runs = n
	}
	var names []string
	for name := range hostileScripts() {
		names = append(names, name)
	}
	slices.Sort(names)
	mark := t.TempDir()
	work := make(chan int)
	var wg sync.WaitGroup
	var mu sync.Mutex
	ends := map[Outcome]int{}
	for range 2 * runtime.NumCPU() {
		wg.Go(func() {
			for i := range work {
				s := shell(t, hostileScripts()[names[i%len(names)]], mark)
				s.ScratchParent = mark
				s.Limits.Processes = 30
				s.Limits.Wall = time.Duration(1+i%40) * 5 * time.Millisecond
				r, err := runWith(t.Context(), s, tracerEngine{})
				if err != nil {
					t.Error(err)
					continue
				}
				mu.Lock()
				ends[r.Outcome]++
				mu.Unlock()
			}
		})
	}
	for i := range runs {
		work <- i
	}
	close(work)
	wg.Wait()
	t.Logf("%d runs: %v", runs, ends)
	noSurvivors(t, mark)
	for _, e := range processTable() {
		if e.parent == os.Getpid() {
			t.Errorf("child %d (%s) is left", e.pid, processName(e.pid))
		}
	}
	if left, err := os.ReadDir(mark); err != nil || len(left) != 0 {
		t.Errorf("%d scratch directories are left, %v", len(left), err)
	}
	for o := range ends {
		if o != Exited && o != TimedOut && o != ProcessLimitExceeded {
			t.Errorf("%d runs ended %v", ends[o], o)
		}
	}
}
