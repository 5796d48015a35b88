package probe

import (
	"errors"
	"testing"
)

func TestOutcomePrecedence(t *testing.T) {
	all := facts{
		cancelled: true, timedOut: true, output: true, cpu: true, memory: true, processes: true,
		identity: true, startFailed: true, exited: true, signaled: true,
	}
	// Each step removes what has just won, so that the next must win.
	for _, s := range []struct {
		want   Outcome
		remove func(*facts)
	}{
		{Cancelled, func(f *facts) { f.cancelled = false }},
		{TimedOut, func(f *facts) { f.timedOut = false }},
		{OutputLimitExceeded, func(f *facts) { f.output = false }},
		{CPULimitExceeded, func(f *facts) { f.cpu = false }},
		{MemoryLimitExceeded, func(f *facts) { f.memory = false }},
		{ProcessLimitExceeded, func(f *facts) { f.processes = false }},
		{IdentityChanged, func(f *facts) { f.identity = false }},
		{StartFailed, func(f *facts) { f.startFailed = false }},
		{Exited, func(f *facts) { f.exited = false }},
		{Signaled, func(f *facts) { f.signaled = false }},
		{Unknown, func(*facts) {}},
	} {
		if got := all.outcome(); got != s.want {
			t.Errorf("outcome of %+v = %v, want %v", all, got, s.want)
		}
		s.remove(&all)
	}
}

func TestOutcomeText(t *testing.T) {
	want := []string{
		"UNKNOWN", "EXITED", "SIGNALED", "TIMED_OUT", "CANCELLED", "OUTPUT_LIMIT_EXCEEDED", "CPU_LIMIT_EXCEEDED",
		"MEMORY_LIMIT_EXCEEDED", "PROCESS_LIMIT_EXCEEDED", "IDENTITY_CHANGED", "START_FAILED",
	}
	for i, name := range want {
		o := Outcome(i)
		if text, err := o.MarshalText(); err != nil || string(text) != name {
			t.Errorf("Outcome(%d) = %q, %v; want %q", i, text, err, name)
		}
		var back Outcome
		if err := back.UnmarshalText([]byte(name)); err != nil || back != o {
			t.Errorf("%q = %v, %v; want %d", name, back, err, i)
		}
	}
	for _, bad := range []string{"", "exited", "EXITED\n", "EXITED "} {
		o := Outcome(3)
		if err := o.UnmarshalText([]byte(bad)); !errors.Is(err, CodeBadOutcome) || o != 3 {
			t.Errorf("UnmarshalText(%q) = %v and set %v", bad, err, o)
		}
	}
	if Outcome(-1).String() != "UNKNOWN" || Outcome(99).String() != "UNKNOWN" {
		t.Error("a number that is no outcome has a name")
	}
}
