package probe

import (
	"os"
	"time"
)

// job is one run as an engine sees it: everything is checked and expanded.
type job struct {
	path    string
	argv    []string
	env     []string
	scratch string
	files   [3]*os.File // the child's ends of its standard streams
	limits  Limits
	expect  *Expectation
	network NetworkPolicy
	require []Property
	write   []string
	read    []string
	spaces  []Namespace // of its own
	observe bool        // list the files that are used
	stop    *stopper
	// busy, when not nil, is called when the program is open for writing.
	busy func()
	// begin is called by the engine, once, when the program was started: the
	// time limit counts from then.
	begin func()
}

// observed is what an engine saw of one run.
type observed struct {
	start      *StartError
	exitCode   int
	signal     int // that ended the program, 0 when it exited
	wall       time.Duration
	user, sys  time.Duration
	cpu        CPUFigure
	memory     Memory
	processes  int
	counted    bool
	peak       int
	counters   *Counters
	leftover   []Leftover
	executed   []Executed
	fileSize   bool
	isolation  []PropertyStatus
	limits     []LimitStatus
	expected   *ExpectationStatus
	notMatched bool
	// files are those that were used, when that was asked for and the engine can.
	files           []ObservedFile
	filesFailed     int64
	filesIncomplete string
	// cpuOver and memoryOver say that the sums at the end exceed a limit, which
	// a run that ended between two samples may have done.
	cpuOver, memoryOver bool
}

// engine runs a job to the end of its last process.
type engine interface {
	name() string
	// properties says what the engine would enforce for the job, before it runs.
	properties(j *job) []PropertyStatus
	run(j *job) (*observed, error)
}
