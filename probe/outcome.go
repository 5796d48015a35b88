package probe

import "fmt"

// Outcome is how a run ended. The zero value is Unknown and never success.
type Outcome int

// The outcomes. Where several hold for one run the first of Cancelled,
// TimedOut, OutputLimitExceeded, CPULimitExceeded, MemoryLimitExceeded,
// ProcessLimitExceeded is reported, then the rest.
const (
	Unknown              Outcome = iota
	Exited                       // the program ended by itself; ExitCode is set
	Signaled                     // a signal that no limit sent ended the program
	TimedOut                     // Limits.Wall passed
	Cancelled                    // the context was done
	OutputLimitExceeded          // a stream was longer than its limit
	CPULimitExceeded             // the tree used more than Limits.CPU
	MemoryLimitExceeded          // the tree held more than Limits.Memory
	ProcessLimitExceeded         // more than Limits.Processes at once
	IdentityChanged              // another image than Spec.Expect; nothing of it ran
	StartFailed                  // the program could not be started; see StartError
)

// outcomeNames returns the names of the outcomes, in the order of their values.
func outcomeNames() []string {
	return []string{
		"UNKNOWN", "EXITED", "SIGNALED", "TIMED_OUT", "CANCELLED", "OUTPUT_LIMIT_EXCEEDED", "CPU_LIMIT_EXCEEDED",
		"MEMORY_LIMIT_EXCEEDED", "PROCESS_LIMIT_EXCEEDED", "IDENTITY_CHANGED", "START_FAILED",
	}
}

// String returns the name used in records, such as TIMED_OUT.
func (o Outcome) String() string {
	names := outcomeNames()
	if o < 0 || int(o) >= len(names) {
		return names[Unknown]
	}
	return names[o]
}

// MarshalText returns the name used in records.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText accepts exactly the names that [Outcome.String] returns.
func (o *Outcome) UnmarshalText(text []byte) error {
	for i, name := range outcomeNames() {
		if string(text) == name {
			*o = Outcome(i)
			return nil
		}
	}
	return &Error{Code: CodeBadOutcome, Op: "parse outcome", Err: fmt.Errorf("no outcome is named %.64q", text)}
}

// facts are what is known of a finished run when its outcome is decided.
type facts struct {
	cancelled, timedOut, output, cpu, memory, processes bool
	identity, startFailed                               bool
	exited, signaled                                    bool
}

// outcome applies the precedence of the outcomes to f.
func (f facts) outcome() Outcome {
	order := []struct {
		holds bool
		is    Outcome
	}{
		{f.cancelled, Cancelled},
		{f.timedOut, TimedOut},
		{f.output, OutputLimitExceeded},
		{f.cpu, CPULimitExceeded},
		{f.memory, MemoryLimitExceeded},
		{f.processes, ProcessLimitExceeded},
		{f.identity, IdentityChanged},
		{f.startFailed, StartFailed},
		{f.exited, Exited},
		{f.signaled, Signaled},
	}
	for _, o := range order {
		if o.holds {
			return o.is
		}
	}
	return Unknown
}
