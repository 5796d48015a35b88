package probe

import "time"

// ScratchVar stands for the private scratch directory in [Spec] Args, in the
// values of [Environment] Set, in [Environment] Path and in
// [IsolationRequest] Read and Write. It is the only interpolation.
const ScratchVar = "${scratch}"

// Spec is one run. The zero values of its fields are safe: no host variable is
// admitted, limits are on, the network is denied. Run keeps copies of nothing
// after it returns and never writes to the caller's slices.
type Spec struct {
	// Path is the absolute path of the program. PATH is never searched.
	Path string
	// Args is the whole argument list, argv[0] included. It may not be empty.
	Args []string
	// Env says which variables the program sees.
	Env Environment
	// Stdin is given on standard input, as a file that is read from its start
	// and then at its end; nil means /dev/null.
	Stdin []byte
	// Limits bound the run.
	Limits Limits
	// Isolation restricts the run.
	Isolation IsolationRequest
	// ScratchParent is where the private scratch directory is made; empty is
	// os.TempDir().
	ScratchParent string
	// Inspect, when not nil, is called when every descendant is dead and before
	// the scratch directory is removed, for every run that made one. An error is
	// returned by Run under CodeInspect, beside the Result.
	Inspect func(scratch string, r *Result) error
	// Expect, when not nil, is the identity of the executable that must run.
	Expect *Expectation
	// ObserveFiles lists the files that the run opens, executes and maps, in
	// Result.Observed.
	ObserveFiles bool
}

// Environment says how the child's variables are composed. Every child has
// PYTHONHASHSEED=0, PYTHONDONTWRITEBYTECODE=1, TZ=UTC, LANG and LC_ALL=C.UTF-8,
// HOME and TMPDIR; then what Admit names, then Set, then PATH from Path.
type Environment struct {
	// Admit lists host variables that are passed on when they are set and their
	// names do not look like credentials. Others of that kind are withheld and
	// listed in Result.Withheld.
	Admit []string
	// Lookup reads the host's environment; nil admits nothing.
	Lookup func(name string) (string, bool)
	// Set are constants, each "NAME=value"; they win over all the rest.
	Set []string
	// Path is the whole PATH of the child, each entry absolute. When empty the
	// child has no PATH, unless Set or Admit give one.
	Path []string
}

// Limits bound one run. Zero means the documented default, a negative number or
// one above the bound is an error (CodeBadLimit).
type Limits struct {
	Wall      time.Duration // from start to end; default 1 minute, at most 24 hours
	CPU       time.Duration // user and system time of the whole tree; default 5 minutes, at most 168 hours
	Memory    int64         // bytes held by the whole tree at once; default 4 GiB, at most 1 PiB
	FileSize  int64         // bytes of any one file written; default 4 GiB, at most 1 PiB
	Stdout    int64         // bytes of standard output; default 8 MiB, at most 1 GiB
	Stderr    int64         // bytes of standard error; default 8 MiB, at most 1 GiB
	Processes int           // processes alive at once; default 256, at most 65536; threads are held to 16 times that
	OpenFiles int           // descriptors of each process; default 1024, at least 16, at most 1048576
}

// NetworkPolicy says whether the program may use a network. The zero value is
// NetworkDeny.
type NetworkPolicy int

// The network policies.
const (
	NetworkDeny  NetworkPolicy = iota // sockets other than AF_UNIX are refused, where the host can
	NetworkAllow                      // nothing is restricted
)

// Property names something that a host may be able to enforce.
type Property string

// The properties. The first four may be required; all are reported.
const (
	PropertyNetwork    Property = "network"    // no network when it is denied
	PropertyWrites     Property = "writes"     // writes only below scratch and IsolationRequest.Write
	PropertyProcesses  Property = "processes"  // a limit on processes, and no descendant survives
	PropertyMemory     Property = "memory"     // a limit on the memory of the tree
	PropertyReads      Property = "reads"      // reads only below IsolationRequest.Read, when it lists any
	PropertyPrivileges Property = "privileges" // no privilege can be gained by executing a file
	PropertyHost       Property = "host"       // the host process's environment, memory and descriptors are unreadable
	PropertySignals    Property = "signals"    // no signal and no abstract socket reaches a process outside the run
	PropertySyscalls   Property = "syscalls"   // io_uring, ptrace, keyrings, mount and their like are refused
)

// IsolationRequest asks for restrictions. Everything that the host can enforce
// is enforced; Require makes an error of what it cannot.
type IsolationRequest struct {
	Network NetworkPolicy
	// Require lists properties without which nothing may start
	// (CodeNotEnforceable). Only network, writes, processes, memory and reads.
	Require []Property
	// Write lists absolute files and directories, beside the scratch directory,
	// that may be written.
	Write []string
	// Read, when not empty, lists the absolute files and directories that may be
	// read and executed, beside scratch, Write and the program itself. When
	// empty, reads are not restricted.
	Read []string
	// Namespaces lists kernel namespaces that the run gets of its own, beside the
	// rest. One that cannot be made is an error before anything starts
	// (CodeNamespace).
	Namespaces []Namespace
}

// Expectation is the identity of the file at Spec.Path as it was measured: from
// fstat of the descriptor that was hashed. For a script it is the script's.
type Expectation struct {
	Dev     uint64 `json:"dev"`
	Ino     uint64 `json:"ino"`
	Size    int64  `json:"size"`
	CtimeNS int64  `json:"ctime_ns"`
	Digest  string `json:"digest,omitempty"` // for messages only
	Path    string `json:"path,omitempty"`   // for messages only
	// Interpreter, when not nil, is the measured identity of the interpreter
	// that a script's first line names.
	Interpreter *Expectation `json:"interpreter,omitempty"`
}
