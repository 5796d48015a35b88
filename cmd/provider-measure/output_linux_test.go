package main

import (
	"bytes"
	"os"
	"testing"
)

// What could not be written whole is not a success, whoever refused it.
func TestOutputFails(t *testing.T) {
	s := newSandbox(t, false)
	for _, c := range []struct {
		name string
		args []string
	}{
		{"measure", []string{"tool.answer", "--providers", s.tool, "--runs", "1"}},
		{"measure as text", []string{"tool.answer", "--providers", s.tool, "--runs", "1", "--format", "text"}},
		{"identify", []string{"identify", "tool", "--providers", s.tool}},
		{"catalog", []string{"catalog", "--python", "/nowhere"}},
		{"doctor", []string{"doctor", "--python", "/nowhere"}},
		{"digest", []string{"digest", "tree", s.tool}},
		{"schema", []string{"schema", "catalog"}},
		{"explain", []string{"explain"}},
		{"completion", []string{"completion", "bash"}},
		{"version", []string{"--version"}},
		{"help", []string{}},
		{"help of a command", []string{"digest", "--help"}},
	} {
		t.Run(c.name+" to a full disk", func(t *testing.T) {
			full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer full.Close()
			s.outputFails(t, full, c.args)
		})
		t.Run(c.name+" to a closed pipe", func(t *testing.T) {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			r.Close()
			defer w.Close()
			s.outputFails(t, w, c.args)
		})
	}
	s.emptyTmp(t)
}

func (s *sandbox) outputFails(t *testing.T, stdout *os.File, args []string) {
	t.Helper()
	cmd := invocation{args: args, dir: s.dir, env: s.env}.command(t.Context(), t)
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = stdout, &stderr
	status := statusOf(t, cmd.Run())
	r := result{stderr: stderr.String(), status: status}
	r.want(t, exitUnfinished)
	for _, a := range args {
		if a == "text" {
			return
		}
	}
	if e := r.failure(t); e.Code != "OUTPUT_FAILED" {
		t.Errorf("code %s, want OUTPUT_FAILED: %s", e.Code, r.stderr)
	}
}

// A standard error that nobody reads changes no result.
func TestErrorOutputFails(t *testing.T) {
	s := newSandbox(t, false)
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	cmd := invocation{args: []string{"identify", "tool", "--providers", s.tool}, env: s.env}.command(t.Context(), t)
	cmd.Stderr = full
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	decoded(t, string(out))
	cmd = invocation{args: []string{"identify", "nobody"}, env: s.env}.command(t.Context(), t)
	cmd.Stderr = full
	if status := statusOf(t, cmd.Run()); status != exitUsage {
		t.Errorf("exit status %d, want %d", status, exitUsage)
	}
}
