package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestExitCodes pins the exit status of each kind of end. They are read by
// scripts and never change.
func TestExitCodes(t *testing.T) {
	for name, want := range map[string]int{
		"exitGood": 0, "exitFinding": 1, "exitUsage": 2, "exitUnknown": 3, "exitUnfinished": 4,
	} {
		got := map[string]int{
			"exitGood": exitGood, "exitFinding": exitFinding, "exitUsage": exitUsage, "exitUnknown": exitUnknown, "exitUnfinished": exitUnfinished,
		}[name]
		if got != want {
			t.Errorf("%s is %d, want %d", name, got, want)
		}
	}
	edit := func(name, old, text string) func(*testing.T, *sandbox) {
		return func(t *testing.T, s *sandbox) { replaceIn(t, filepath.Join(s.tool, name), old, text, true) }
	}
	for _, c := range []struct {
		name   string
		args   []string
		change func(*testing.T, *sandbox)
		status int
		code   string // of the JSON error; "" when there is none
		record bool   // a result on standard output
	}{
		{"measured", []string{"tool.answer", "--runs", "1"}, nil, 0, "", true},
		{"identified", []string{"identify", "tool"}, nil, 0, "", true},
		{"help", nil, nil, 0, "", false},
		{"version", []string{"--version"}, nil, 0, "", false},
		{"requirement unmet", []string{"tool.answer", "--runs", "1"}, edit("tool.toml", "<= 1024", "<= 1"), 1, "", true},
		{"requirement undecided", []string{"tool.answer", "--runs", "1"}, edit("tool.toml", "installed-bytes", "cold-install-ms"), 3, "", true},
		{"wrong answer", []string{"tool.answer", "--runs", "1"}, edit("tool.sh", "answer to", "no answer to"), 1, "", true},
		{"failing probe", []string{"tool.answer", "--runs", "1"}, edit("tool.sh", "serve) read", "serve) exit 5; read"), 1, "", true},
		{"unavailable", []string{"tool.answer"}, edit("tool.sh", "1.2.3", "1.2.4"), 1, "UNAVAILABLE", false},
		{"identified as unavailable", []string{"identify", "tool"}, edit("tool.sh", "1.2.3", "1.2.4"), 1, "UNAVAILABLE", true},
		{"executable gone", []string{"identify", "tool"}, func(t *testing.T, s *sandbox) {
			if err := os.Remove(filepath.Join(s.tool, "tool.sh")); err != nil {
				t.Fatal(err)
			}
		}, 1, "UNAVAILABLE", true},
		{"broken promise", []string{"catalog", "--python", "/nowhere"}, edit("tool.sh", "1.2.3", "1.2.4"), 1, "UNAVAILABLE", false},
		{"broken promise in doctor", []string{"doctor", "--python", "/nowhere"}, edit("tool.sh", "1.2.3", "1.2.4"), 1, "", true},
		{"unknown option", []string{"catalog", "--nothing"}, nil, 2, "USAGE", false},
		{"unknown command", []string{"katalog"}, nil, 2, "USAGE", false},
		{"unknown capability", []string{"tool.question"}, nil, 2, "UNKNOWN_CAPABILITY", false},
		{"unknown provider", []string{"identify", "hammer"}, nil, 2, "UNKNOWN_PROVIDER", false},
		{"unknown code", []string{"explain", "NOTHING_AT_ALL_LIKE_IT"}, nil, 2, "UNKNOWN_CODE", false},
		{"unknown schema", []string{"schema", "x"}, nil, 2, "UNKNOWN_SCHEMA", false},
		{"bad manifest", []string{"identify", "tool"}, edit("tool.toml", "license_id", "licence_id"), 2, "CONFIGURATION", false},
		{"bad number", []string{"tool.answer", "--runs", "0"}, nil, 2, "USAGE", false},
		{"missing path", []string{"digest", "executable", "/nowhere"}, nil, 2, "digest.not_found", false},
		{"refused path", []string{"digest", "executable", "/"}, nil, 1, "digest.not_regular", false},
		{"no scratch", []string{"tool.answer"}, func(t *testing.T, s *sandbox) {
			if err := os.Remove(s.tmp); err != nil {
				t.Fatal(err)
			}
		}, 3, "UNAVAILABLE", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSandbox(t, false)
			if c.change != nil {
				c.change(t, s)
			}
			s.env = append(s.env, "PROVIDER_MEASURE_PROVIDERS="+s.tool)
			r := s.call(t, c.args...)
			r.want(t, c.status)
			if c.code != "" {
				if e := r.failure(t); e.Code != c.code {
					t.Errorf("code %s, want %s", e.Code, c.code)
				}
			}
			switch {
			case c.record:
				decoded(t, r.stdout)
			case c.status != 0 && r.stdout != "":
				t.Errorf("standard output: %s", r.stdout)
			}
		})
	}
}
