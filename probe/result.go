package probe

import "time"

// Engine names.
const (
	EngineTracer   = "tracer"   // ptrace: every descendant was seen from its start to its end
	EnginePortable = "portable" // session, process group and process-table search
)

// Result is one finished run. No descendant of the program was alive when it
// was made.
type Result struct {
	Outcome  Outcome `json:"outcome"`
	ExitCode *int    `json:"exit_code"`        // set only when Outcome is Exited
	Signal   string  `json:"signal,omitempty"` // such as SIGSEGV, only when Outcome is Signaled
	// Stdout and Stderr are cut at their limits.
	Stdout         []byte `json:"stdout"`
	Stderr         []byte `json:"stderr"`
	StdoutExceeded bool   `json:"stdout_exceeded"`
	StderrExceeded bool   `json:"stderr_exceeded"`
	// FileSizeExceeded says that a process was told by SIGXFSZ that it reached
	// Limits.FileSize; only the tracer can see it.
	FileSizeExceeded bool `json:"file_size_exceeded"`

	Wall   time.Duration `json:"wall_ns"`   // from the start that succeeded to the end of the program itself
	User   time.Duration `json:"user_ns"`   // of the tree
	System time.Duration `json:"system_ns"` // of the tree
	CPU    CPUFigure     `json:"cpu"`       // how User and System were obtained

	Memory    Memory     `json:"memory"`
	Processes int        `json:"processes"` // started in all, the program included
	Counted   bool       `json:"counted"`   // whether Processes is exact; else it is a lower bound
	Peak      int        `json:"processes_peak"`
	Counters  *Counters  `json:"counters,omitempty"`
	Leftover  []Leftover `json:"leftover_processes"`
	// Executed lists the images that the tree executed, each once, in order of
	// first use; only the tracer can see them.
	Executed []Executed `json:"executed,omitempty"`

	// Observed is what a run with Spec.ObserveFiles used, in order of first use;
	// nil for any other run.
	//
	// It has every file that a system call opened, every executed image with the
	// scripts and the loader that the kernel opened for it, and every file that
	// was mapped after an exec or at the end of a process. A descriptor that was
	// not opened within the run (one that came over a socket from outside, or was
	// inherited) is seen only when its file is mapped or executed. Files that
	// were looked at without being opened (stat) are not among them.
	Observed []ObservedFile `json:"observed,omitempty"`
	// ObservedFailed counts the openings that were refused.
	ObservedFailed int64 `json:"observed_failed,omitempty"`
	// ObservedIncomplete is why files may be missing from Observed; empty when
	// none can be.
	ObservedIncomplete string `json:"observed_incomplete,omitempty"`

	EnvNames []string `json:"env_names"` // names that the child was given, sorted
	Withheld []string `json:"withheld"`  // names that were admitted but look like credentials, sorted

	Isolation   []PropertyStatus   `json:"isolation"`
	Limits      []LimitStatus      `json:"limits"`
	Expectation *ExpectationStatus `json:"expectation,omitempty"` // set when Spec.Expect was
	StartError  *StartError        `json:"start_error,omitempty"` // set only when Outcome is StartFailed
	Engine      string             `json:"engine"`
	// EngineReason says why the portable engine ran where a tracer exists.
	EngineReason string `json:"engine_reason,omitempty"`
}

// Memory is the two peaks of a run.
type Memory struct {
	Process Figure `json:"process"` // the largest single process
	Tree    Figure `json:"tree"`    // all processes at one moment
}

// Scopes of a [Figure].
const (
	scopeProcess = "process"
	scopeTree    = "tree"
)

// Figure is a number of bytes, or the reason why there is none.
type Figure struct {
	Bytes  *int64        `json:"bytes"`
	Method string        `json:"method,omitempty"`
	Scope  string        `json:"scope,omitempty"` // process or tree
	Period time.Duration `json:"period_ns,omitempty"`
	Reason string        `json:"reason,omitempty"` // why Bytes is nil
}

// CPUFigure says how the CPU times were obtained.
type CPUFigure struct {
	Method string `json:"method,omitempty"`
	Scope  string `json:"scope,omitempty"`
	Reason string `json:"reason,omitempty"` // why the times are not there; they are then 0
}

// Counters are kernel counters of the tree.
type Counters struct {
	MinorFaults         int64  `json:"minor_faults"`
	MajorFaults         int64  `json:"major_faults"` // pages read from storage: they tell a cold start
	VoluntarySwitches   int64  `json:"voluntary_switches"`
	InvoluntarySwitches int64  `json:"involuntary_switches"`
	BlocksIn            int64  `json:"blocks_in"`  // 512-byte units read from storage
	BlocksOut           int64  `json:"blocks_out"` // 512-byte units written to storage
	Method              string `json:"method"`
	// IO is what the tree read and wrote; nil where that is not known, for IOReason.
	IO       *IOCounters `json:"io"`
	IOReason string      `json:"io_reason,omitempty"`
}

// IOCounters are bytes that went through system calls, whatever they were read
// from or written to, and those of them that a storage layer was asked for.
type IOCounters struct {
	Read         int64  `json:"read"`          // by read(2) and its like: files, pipes, terminals, the page cache
	Written      int64  `json:"written"`       // by write(2) and its like
	StorageRead  int64  `json:"storage_read"`  // fetched from storage
	StorageWrite int64  `json:"storage_write"` // pages made dirty, to be written to storage
	Method       string `json:"method"`
}

// Leftover is a process that was still alive when the program had ended. It is
// dead when the Result exists.
type Leftover struct {
	PID  int    `json:"pid"`
	Name string `json:"name"` // the kernel's name of it, at most 15 bytes; arguments are never read
}

// Executed is one image that the tree executed.
type Executed struct {
	Path string `json:"path"`
	Dev  uint64 `json:"dev"`
	Ino  uint64 `json:"ino"`
}

// PropertyStatus says whether one property was enforced.
type PropertyStatus struct {
	Property Property `json:"property"`
	Enforced bool     `json:"enforced"`
	Method   string   `json:"method,omitempty"`
	Reason   string   `json:"reason,omitempty"` // why not
}

// LimitStatus says whether one limit was enforced.
type LimitStatus struct {
	Limit    string `json:"limit"` // wall, cpu, memory, file_size, stdout, stderr, processes, open_files
	Value    int64  `json:"value"` // nanoseconds, bytes or a count, as in Limits, the default put in
	Enforced bool   `json:"enforced"`
	Method   string `json:"method,omitempty"`
	Reason   string `json:"reason,omitempty"`
}

// ExpectationStatus says how Spec.Expect was compared.
type ExpectationStatus struct {
	// Matched is true when what ran was the expected program, and it was not
	// changed while a script of it could still be read.
	Matched bool `json:"matched"`
	// Exact is true when the comparison was of the running image, before its
	// first instruction, and for a script also of each descriptor that it was
	// opened as, before it was read; else it was of the path, just before and after.
	Exact  bool   `json:"exact"`
	Method string `json:"method"`
	// Difference names what differed when Matched is false.
	Difference string `json:"difference,omitempty"`
	// Lease is true when a read lease on the file was held from before the
	// comparison to the end of the run, so that a writer was held up and seen.
	Lease       bool   `json:"lease"`
	LeaseReason string `json:"lease_reason,omitempty"` // why there was none, of the program or of its interpreter
}

// StartError is why a program did not start. errors.Is finds its Code and cause.
type StartError struct {
	Code        Code   `json:"code"`
	Path        string `json:"path"`
	Interpreter string `json:"interpreter,omitempty"` // the interpreter that Path names
	Message     string `json:"message"`
	Err         error  `json:"-"`
}

// Error returns Message.
func (e *StartError) Error() string { return e.Message }

// Unwrap returns the code, then the cause.
func (e *StartError) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Code}
	}
	return []error{e.Code, e.Err}
}
