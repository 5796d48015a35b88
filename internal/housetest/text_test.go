package housetest

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"strings"
	"testing"
)

// maxLines is where a file is certainly more than one idea; 500 is the aim.
const maxLines = 600

// longFile is the rule for the length of what is written by hand and is no test.
func longFile(name string, text []byte) []string {
	switch {
	case strings.HasSuffix(name, "_test.go"), path.Ext(name) == ".md", path.Ext(name) == ".json", path.Ext(name) == ".sum",
		path.Ext(name) == ".lock", name == "LICENSE", strings.Contains("/"+name, "/testdata/"):
		return nil
	}
	if lines := bytes.Count(text, []byte("\n")); lines > maxLines {
		return []string{fmt.Sprintf("%s: %d lines, at most %d", name, lines, maxLines)}
	}
	return nil
}

// realHosts are the hosts that committed text may name in a URL: published
// documents, and the repository's own place. A registry is never named, since
// clients know theirs, and an example uses a name that is reserved for examples.
func realHosts() map[string]bool {
	out := map[string]bool{}
	for _, host := range []string{
		"github.com", "json-schema.org", "www.apache.org", "spdx.org", "www.rfc-editor.org", "peps.python.org",
		"packaging.python.org", "docs.python.org", "go.dev", "pkg.go.dev", "man7.org", "www.kernel.org",
		"networkx.org", "www.sympy.org", "cvc5.github.io", "mpmath.org", "flintlib.org", "in-toto.io", "bugs.python.org",
	} {
		out[host] = true
	}
	return out
}

// reservedHost also takes a name without a dot, which no public host has.
func reservedHost(host string) bool {
	if !strings.Contains(host, ".") {
		return true
	}
	switch host {
	case "127.0.0.1", "example.com", "example.org", "example.net":
		return true
	}
	for _, end := range []string{".example", ".invalid", ".test", ".localhost", ".example.com", ".example.org"} {
		if strings.HasSuffix(host, end) {
			return true
		}
	}
	return false
}

// strangeText is the rule that committed text names no folder of one person's
// machine, no registry, and no host that was made up.
func strangeText(name string, text []byte) []string {
	// Written in pieces, or this file would break its own rule.
	folder := regexp.MustCompile(`(^|[^\w.\-}/])/(wo` + `rk|ro` + `ot|ho` + `me/\w+|Us` + `ers/\w+|fa` + `rm)(/|\b)`)
	registry := regexp.MustCompile(`(?i)\b(py` + `pi\.org|python` + `hosted\.org|npm` + `js\.org|crates` + `\.io|proxy\.go` + `lang\.org|sum\.go` + `lang\.org|maven\.org|deb\.deb` + `ian\.org)\b`)
	url := regexp.MustCompile(`(?i)\bhttps?://([a-z0-9.-]+)`)
	hosts := realHosts()
	var wrong []string
	for number, line := range bytes.Split(text, []byte("\n")) {
		say := func(format string, args ...any) {
			wrong = append(wrong, fmt.Sprintf("%s:%d: ", name, number+1)+fmt.Sprintf(format, args...))
		}
		if m := folder.Find(line); m != nil {
			say("a folder of one machine: %s", m)
		}
		if m := registry.Find(line); m != nil {
			say("a registry's host: %s", m)
		}
		for _, m := range url.FindAllSubmatch(line, -1) {
			host := strings.ToLower(strings.TrimRight(string(m[1]), ".-"))
			if !hosts[host] && !reservedHost(host) {
				say("host %s is neither reserved for examples nor in the list of real ones here", host)
			}
		}
	}
	return wrong
}

// unfinished is the rule that nothing is left for later, and that no step of a
// build is allowed to fail unseen.
func unfinished(name string, text []byte) []string {
	marker := regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b`)
	hidden := regexp.MustCompile(`\|\|\s*(tr` + `ue|:)(\s|;|$)`)
	script := name == "Makefile" || strings.HasPrefix(name, ".ci/") || strings.HasPrefix(name, "scripts/")
	var wrong []string
	for number, line := range bytes.Split(text, []byte("\n")) {
		if m := marker.Find(line); m != nil {
			wrong = append(wrong, fmt.Sprintf("%s:%d: %s", name, number+1, m))
		}
		if script && hidden.Match(line) {
			wrong = append(wrong, fmt.Sprintf("%s:%d: a failure that nobody sees", name, number+1))
		}
	}
	return wrong
}

func TestText(t *testing.T) {
	files := 0
	walk(t, func(name string, text []byte) {
		files++
		for _, r := range []func(string, []byte) []string{longFile, strangeText, unfinished} {
			for _, wrong := range r(name, text) {
				t.Error(wrong)
			}
		}
	})
	if files < 100 {
		t.Errorf("looked at %d files, so the test looks at nothing", files)
	}
}

func TestTextBites(t *testing.T) {
	long := strings.Repeat("x\n", maxLines+1)
	tests := []struct {
		name   string
		rule   func(string, []byte) []string
		path   string
		text   string
		faults int
	}{
		{"long code", longFile, "digest/a.go", long, 1},
		{"long script", longFile, "scripts/a", long, 1},
		{"long test", longFile, "digest/a_test.go", long, 0},
		{"at the limit", longFile, "digest/a.go", long[2:], 0},
		{"own folder", strangeText, "a.md", "see /wo" + "rk/main and /ro" + "ot/x", 1},
		{"home", strangeText, "a.md", "in /ho" + "me/ann/x", 1},
		{"homes on another system", strangeText, "a.md", "`/Us" + "ers/ann`", 1},
		{"a longer word", strangeText, "a.md", "a /workers folder, framework/work/x and .../root", 0},
		{"registry", strangeText, "a.md", "from files.python" + "hosted.org", 1},
		{"made-up host", strangeText, "a.md", "http" + "s://downloads.acme.io/x", 1},
		{"real host", strangeText, "a.md", "https://spdx.org/licenses/.", 0},
		{"example host", strangeText, "a.md", "https://index.example/simple and http://127.0.0.1:1/", 0},
		{"left over", unfinished, "a.go", "// TO" + "DO: later", 1},
		{"hidden failure", unfinished, "Makefile", "\trm x || tr" + "ue", 1},
		{"hidden failure in a script", unfinished, ".ci/run", "rm x ||" + " :", 1},
		{"words about it", unfinished, "docs/a.md", "no `|| tr" + "ue`", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.rule(tt.path, []byte(tt.text)); len(got) != tt.faults {
				t.Errorf("%d faults, want %d: %q", len(got), tt.faults, got)
			}
		})
	}
}
