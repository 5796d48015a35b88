package probe

// Code is a stable reason. Codes are errors, so errors.Is finds them in every
// error and start failure of this package; messages may change, codes never do.
type Code string

// Error returns the code itself.
func (c Code) Error() string { return string(c) }

// Codes of a Spec that is refused before anything starts.
const (
	CodeBadPath        Code = "probe.bad_path"        // Path or ScratchParent is not absolute or holds a NUL
	CodeBadArgs        Code = "probe.bad_args"        // Args is empty or an argument holds a NUL
	CodeArgTooLong     Code = "probe.arg_too_long"    // one argument exceeds what the kernel passes on
	CodeBadEnv         Code = "probe.bad_env"         // an entry without '=', a bad or repeated name, a NUL
	CodeEnvTooLong     Code = "probe.env_too_long"    // one variable exceeds what the kernel passes on
	CodeBadSearchPath  Code = "probe.bad_search_path" // an Environment.Path entry is not absolute or holds ':' or NUL
	CodeBadLimit       Code = "probe.bad_limit"       // a limit is negative or above its bound
	CodeBadIsolation   Code = "probe.bad_isolation"   // an unknown property or policy, or a path that is not absolute
	CodeBadExpectation Code = "probe.bad_expectation" // an Expectation without an inode
	CodeBadOutcome     Code = "probe.bad_outcome"     // a text that names no Outcome
	CodeNotEnforceable Code = "probe.not_enforceable" // a required property cannot be enforced on this host
	CodeNamespace      Code = "probe.namespace"       // a namespace that was asked for cannot be made on this host
	CodeScratch        Code = "probe.scratch"         // the scratch directory could not be made or removed
	CodeObserve        Code = "probe.observe"         // the program could not be observed, so there is no result
	CodeInspect        Code = "probe.inspect"         // Spec.Inspect returned an error; the Result is returned with it
	CodeGroup          Code = "probe.cgroup"          // the run's cgroup could not be removed
	CodeNotSupported   Code = "probe.not_supported"   // this operating system has no engine
)

// Codes of a [StartError]: why a program did not start.
const (
	CodeStartMissing     Code = "probe.start_missing"     // no file at Path
	CodeStartDirectory   Code = "probe.start_directory"   // Path is a directory
	CodeStartNotRegular  Code = "probe.start_not_regular" // Path is a FIFO, socket or device
	CodeStartPermission  Code = "probe.start_permission"  // no execute permission, on the file or on the way to it
	CodeStartFormat      Code = "probe.start_format"      // not an executable format, and no "#!" line
	CodeStartInterpreter Code = "probe.start_interpreter" // the interpreter that the file names is missing or unusable
	CodeStartBusy        Code = "probe.start_busy"        // a writer held the file open until the retries ended
	CodeStartTooBig      Code = "probe.start_too_big"     // arguments and environment together exceed the kernel's limit
	CodeStartResources   Code = "probe.start_resources"   // the host had no process, memory or descriptor left
	CodeStartOther       Code = "probe.start_other"       // any other refusal of the kernel; the cause is kept
)

// Error is every error that this package returns.
type Error struct {
	Code Code   // what kind
	Op   string // what was being done
	Path string // the file, field or variable concerned; may be empty
	Err  error  // the cause; may be nil
}

// Error describes the failure for people.
func (e *Error) Error() string {
	s := e.Op
	if e.Path != "" {
		s += " " + e.Path
	}
	if e.Err != nil {
		return s + ": " + e.Err.Error()
	}
	return s + ": " + string(e.Code)
}

// Unwrap returns the code, then the cause.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Code}
	}
	return []error{e.Code, e.Err}
}
