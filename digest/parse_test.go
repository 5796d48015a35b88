//go:build unix

package digest

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func FuzzEntrypoint(f *testing.F) {
	for _, s := range []string{"a.b:c", "../x:y", "a", "a:", ":a", "a:b:c", "a..b:c", "a b:c", "a:b.c", "é:x", "a:b\n", "_1.x9:_"} {
		f.Add(s)
	}
	valid := regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*):([A-Za-z_][A-Za-z0-9_]*)\z`)
	f.Fuzz(func(t *testing.T, s string) {
		ep, err := parseEntrypoint(s)
		m := valid.FindStringSubmatch(s)
		ok := m != nil && len(m[1]) <= maxDotted && len(m[2]) <= maxDotted
		if (err == nil) != ok {
			t.Fatalf("%q: %v, the pattern accepts: %v", s, err, ok)
		}
		if err != nil {
			if !errors.Is(err, CodeEntrypointInvalid) || ep.parts != nil {
				t.Fatalf("%q: %v", s, err)
			}
			return
		}
		if got := strings.Join(ep.parts, ".") + ":" + ep.attribute; got != s {
			t.Fatalf("%q: printed as %q", s, got)
		}
	})
}

func FuzzExclusions(f *testing.F) {
	for _, s := range []string{"a", "a/b", "/a", "a/", "", ".", "..", "a/../b", "a//b", "a\x00", "__pycache__", "x/__pycache__/y", "\xff", "a\nb"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		_, err := newExclusions([]string{s})
		ok := s != "" && path.Clean(s) == s && !path.IsAbs(s) && s != "." && s != ".." && !strings.HasPrefix(s, "../") &&
			!strings.Contains(s, "\x00") && !strings.Contains("/"+s+"/", "/__pycache__/")
		if (err == nil) != ok {
			t.Fatalf("%q: %v, want accepted: %v", s, err, ok)
		}
		if err != nil && !errors.Is(err, CodeExclusionInvalid) {
			t.Fatal(err)
		}
		if ok {
			x, _ := newExclusions([]string{s})
			if x.match([]byte(s+"x")) || !x.match([]byte(s)) || x.unused("/") != nil {
				t.Fatalf("%q doesn't match itself and nothing else", s)
			}
		}
	})
}

// FuzzRecordPlace: wherever a row points, its place is refused or lies below the
// environment.
func FuzzRecordPlace(f *testing.F) {
	for _, s := range []string{"a", "../a", "../../bin/x", "../../../a", "/a", "a/../../..", "..", "../..", "a/..", "../../lib/x", "../../../v/lib/x", "../../../../v/lib/x"} {
		f.Add(s, "lib/python3/site-packages")
		f.Add(s, "")
	}
	f.Fuzz(func(t *testing.T, p, site string) {
		p, why := recordPath(p)
		if why != "" || site != "" && (path.Clean(site) != site || path.IsAbs(site) || site == "." || strings.HasPrefix(site, "..")) {
			return
		}
		r := &resolver{prefix: "/v", site: site}
		rel, err := r.locate(Row{Path: p})
		abs := path.Join("/v", site, p)
		// Climbing out and back in is climbing out, hence the second prefix: the
		// deepest point of the climb, found part by part.
		out := path.IsAbs(p) || abs == "/v"
		at := path.Join("/x/v", site)
		for _, part := range strings.Split(p, "/") {
			at = path.Join(at, part)
			out = out || !within(at, "/x/v")
		}
		if (err != nil) != out {
			t.Fatalf("%q in %q: %q, %v; leads out: %v", p, site, rel, err, out)
		}
		if err == nil && "/v/"+rel != abs {
			t.Fatalf("%q in %q: %q, want %q", p, site, rel, abs)
		}
	})
}

func FuzzLDConf(f *testing.F) {
	for _, s := range []string{
		"/usr/local/lib\n", "# c\n/a # d\ninclude ld.so.conf.d/*.conf /x\nhwcap 0 nosegneg\n/b=libc6\n", "include\n", "relative\n", "\x00/a\n", "\t/x\t\r\n", "include /etc/ld.so.conf\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		items := parseLDConf(data)
		var again bytes.Buffer
		for _, it := range items {
			if strings.ContainsAny(it.text, "\x00\n#") || it.text == "" || !it.include && (!filepath.IsAbs(it.text) || filepath.Clean(it.text) != it.text) {
				t.Fatalf("%q: %+v", data, it)
			}
			if it.include {
				again.WriteString("include " + it.text + "\n")
			} else {
				again.WriteString(it.text + "/=x\n") // the slash keeps a blank at the end of a name
			}
		}
		if diff := cmp.Diff(items, parseLDConf(again.Bytes()), cmp.AllowUnexported(confItem{})); diff != "" {
			t.Fatalf("%q: printed and parsed: %s", data, diff)
		}
	})
}

func FuzzLineHash(f *testing.F) {
	for _, s := range []string{"", "a\n", "a\r\n", "\r", "\r\r\n", "\n\r", "a\r\nb\nc\r"} {
		f.Add([]byte(s), 1)
		f.Add([]byte(s), 2)
	}
	f.Fuzz(func(t *testing.T, data []byte, block int) {
		l := newLineHash(sha256.New)
		for rest := data; len(rest) > 0; {
			n := min(max(block, 1), len(rest))
			l.write(rest[:n])
			rest = rest[n:]
		}
		lf := bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
		crlf := bytes.ReplaceAll(lf, []byte("\n"), []byte("\r\n"))
		got := l.sums()
		for name, pair := range map[string][2][]byte{"raw": {got.raw, data}, "lf": {got.lf, lf}, "crlf": {got.crlf, crlf}} {
			if want := sha256.Sum256(pair[1]); !bytes.Equal(pair[0], want[:]) {
				t.Fatalf("%q in blocks of %d: %s is wrong", data, block, name)
			}
		}
	})
}

func TestCompositeRefuses(t *testing.T) {
	a, b := []byte(`{"provider":"a"}`), []byte(`{"provider":"b"}`)
	for name, records := range map[string][][]byte{
		"none": nil, "twice": {a, b, a}, "not JSON": {a, []byte("{")}, "array": {[]byte(`[]`)}, "no provider": {[]byte(`{}`)},
		"null provider": {[]byte(`{"provider":null}`)}, "number": {[]byte(`{"provider":1}`)}, "repeated key": {[]byte(`{"provider":"a","provider":"b"}`)},
		"float": {[]byte(`{"provider":"a","x":1.5}`)}, "null": {[]byte(`null`)}, "cased": {[]byte(`{"Provider":"a"}`)},
	} {
		if got, err := Composite(records); !errors.Is(err, CodeCompositeInvalid) || got != "" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	x, err := Composite([][]byte{a, b})
	if err != nil {
		t.Fatal(err)
	}
	y, err := Composite([][]byte{[]byte(" { \"provider\" : \"\\u0061\" } "), b})
	if err != nil || x != y {
		t.Errorf("spelling changed the digest: %s %s %v", x, y, err)
	}
	if z, _ := Composite([][]byte{b, a}); x == z {
		t.Error("order isn't part of the digest")
	}
}
