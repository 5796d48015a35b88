package digest

import (
	"errors"
	"regexp"
	"strings"
	"testing"
)

func TestNormalizeName(t *testing.T) {
	for in, want := range map[string]string{
		"demo-pkg": "demo-pkg", "Demo.Pkg": "demo-pkg", "a__-..b": "a-b", "X": "x", "9": "9", "zope.interface": "zope-interface",
	} {
		if got, err := NormalizeName(in); err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", in, got, err, want)
		}
	}
	for _, in := range []string{"", "-a", "a-", ".", "a b", "a\n", "é", "a/b", "..", "a\x00", strings.Repeat("a", maxName+1), "\u212a"} {
		if got, err := NormalizeName(in); !errors.Is(err, CodeNameInvalid) || got != "" {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
}

func TestFolderNames(t *testing.T) {
	for _, tt := range []struct {
		stem, norm string
		want       bool
	}{
		{"demo_pkg-1.0", "demo-pkg", true},
		{"Demo.Pkg-1.0", "demo-pkg", true},
		{"demo-pkg-1.0", "demo-pkg", true},
		{"demo_pkg", "demo-pkg", true},
		{"demo_pkg2-1.0", "demo-pkg", false},
		{"demo-1.0", "demo-pkg", false},
	} {
		if got := matchesFolder(tt.stem, tt.norm); got != tt.want {
			t.Errorf("%s %s: %v", tt.stem, tt.norm, got)
		}
	}
}

func FuzzNormalizeName(f *testing.F) {
	for _, s := range []string{"demo-pkg", "A..B", "-", "é", "a\n", "_a", "a1.2-3_4"} {
		f.Add(s)
	}
	valid := regexp.MustCompile(`^(?:[A-Za-z0-9]|[A-Za-z0-9][A-Za-z0-9._-]*[A-Za-z0-9])\z`)
	runs := regexp.MustCompile(`[-_.]+`)
	f.Fuzz(func(t *testing.T, s string) {
		got, err := NormalizeName(s)
		if ok := valid.MatchString(s) && len(s) <= maxName; (err == nil) != ok {
			t.Fatalf("%q: %v, the packaging standard accepts: %v", s, err, ok)
		}
		if err != nil {
			if !errors.Is(err, CodeNameInvalid) || got != "" {
				t.Fatalf("%q: %q, %v", s, got, err)
			}
			return
		}
		if want := strings.ToLower(runs.ReplaceAllString(s, "-")); got != want {
			t.Fatalf("%q: %q, want %q", s, got, want)
		}
		if again, err := NormalizeName(got); err != nil || again != got {
			t.Fatalf("%q: not stable: %q, %v", s, again, err)
		}
		if !matchesFolder(strings.ReplaceAll(got, "-", "_")+"-1.0", got) {
			t.Fatalf("%q: its own folder isn't recognised", s)
		}
	})
}
