package probe

import (
	"fmt"
	"os"
	"testing"
	"time"
)

func statLine(name string) string {
	return "77 (" + name + ") S 1 2 3 0 -1 4 10 11 12 13 14 15 16 17 20 0 1 0 99 1000 55 18446744073709551615 1 1\n"
}

func TestParseProcessStat(t *testing.T) {
	want := processStat{
		state: 'S', parent: 1, group: 2, session: 3, minor: 10, major: 12, utime: 14, stime: 15, startTime: 99, residentPages: 55,
	}
	for _, name := range []string{"sh", "", "a b", ") R 9 9 9", "((", "x)\n"} {
		if got, ok := parseProcessStat([]byte(statLine(name))); !ok || got != want {
			t.Errorf("%q: %+v, %v", name, got, ok)
		}
	}
	for _, bad := range []string{"", "77 (sh", "77 (sh) S 1 2", "77 (sh) S x 2 3 0 -1 4 10 11 12 13 14 15 16 17 20 0 1 0 99 1000 55 1"} {
		if got, ok := parseProcessStat([]byte(bad)); ok {
			t.Errorf("%q is accepted as %+v", bad, got)
		}
	}
	if s, ok := readProcessStat(os.Getpid()); !ok || s.parent != os.Getppid() || s.startTime == 0 {
		t.Errorf("this process: %+v, %v", s, ok)
	}
}

func FuzzParseProcessStat(f *testing.F) {
	f.Add([]byte(statLine("sh")))
	f.Add([]byte(statLine(") (")))
	f.Add([]byte(")"))
	f.Add([]byte(") \xff 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, ok := parseProcessStat(text)
		if !ok {
			return
		}
		again := fmt.Appendf(nil, "1 (x) %c %d %d %d 0 0 0 %d 0 %d 0 %d %d 0 0 0 0 0 0 %d 0 %d",
			s.state, s.parent, s.group, s.session, s.minor, s.major, s.utime, s.stime, s.startTime, s.residentPages)
		if back, ok := parseProcessStat(again); !ok || back != s {
			t.Fatalf("%q gives %+v, which comes back as %+v", text, s, back)
		}
	})
}

func TestField(t *testing.T) {
	text := []byte("Name:\tVmHWM: 9\nVmHWMX:\t8 kB\nVmHWM:\t  1234 kB\nVmRSS:\nTgid:\tx\n")
	if n, ok := field(text, "VmHWM"); !ok || n != 1234 {
		t.Errorf("VmHWM is %d, %v", n, ok)
	}
	for _, name := range []string{"VmRSS", "Tgid", "None", ""} {
		if n, ok := field(text, name); ok {
			t.Errorf("%q is %d", name, n)
		}
	}
}

func FuzzField(f *testing.F) {
	f.Add([]byte("VmHWM:\t 1 kB\n"), "VmHWM")
	f.Add([]byte("a:b\n\n:"), "a")
	f.Fuzz(func(t *testing.T, text []byte, name string) {
		if n, ok := field(text, name); ok {
			again := fmt.Appendf(nil, "%s: %d kB\n", name, n)
			if back, ok := field(again, name); !ok || back != n {
				// A name with a line break of its own cannot be found again.
				if got, _, _ := cutLine(name); got == name {
					t.Fatalf("%q: %d comes back as %d", name, n, back)
				}
			}
		}
	})
}

func cutLine(s string) (line, rest string, found bool) {
	for i := range s {
		if s[i] == '\n' {
			return s[:i], s[i+1:], true
		}
	}
	return s, "", false
}

func TestSplitClock(t *testing.T) {
	for _, tt := range []struct {
		total        time.Duration
		user, system int64
		wantUser     time.Duration
	}{{100, 0, 0, 100}, {100, 1, 0, 100}, {100, 0, 1, 0}, {100, 3, 1, 75}, {0, 3, 1, 0}} {
		u, s := splitClock(tt.total, tt.user, tt.system)
		if u != tt.wantUser || u+s != tt.total {
			t.Errorf("splitClock(%d, %d, %d) = %d, %d", tt.total, tt.user, tt.system, u, s)
		}
	}
}

func TestProcessClockOfThisProcess(t *testing.T) {
	before, err := processClock(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for begin := time.Now(); time.Since(begin) < 20*time.Millisecond; {
	}
	if after, err := processClock(os.Getpid()); err != nil || after <= before {
		t.Errorf("the clock went from %v to %v, %v", before, after, err)
	}
}
