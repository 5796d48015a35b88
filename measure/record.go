package measure

import (
	"github.com/go-json-experiment/json"
	godigest "github.com/opencontainers/go-digest"

	"github.com/provider-measure/provider-measure/judge"
	"github.com/provider-measure/provider-measure/probe"
	"github.com/provider-measure/provider-measure/provider"
)

// Version is the only measurement_version that this package reads and writes.
const Version = "3"

// Status of one part of a record; the zero value is none of them.
type Status string

// The statuses. COMPLETED has its numbers; the others have a detail.
const (
	Completed Status = "COMPLETED"
	Skipped   Status = "SKIPPED"
	Failed    Status = "ERROR"
)

// Record is one measurement of one provider. Every key is always present; what
// is absent is null and lists are never null. Times are seconds, rounded to the
// microsecond; sizes are bytes.
type Record struct {
	MeasurementVersion string           `json:"measurement_version"`
	ProviderRuntime    provider.Runtime `json:"provider_runtime"`
	Environment        Environment      `json:"environment"`
	ProbeContract      godigest.Digest  `json:"probe_contract"` // see contractDigest
	InstalledSize      InstalledSize    `json:"installed_size"`
	ColdStart          Series           `json:"cold_start"`
	ReproductionCase   Series           `json:"reproduction_case"`
	ColdInstall        ColdInstall      `json:"cold_install"`
	Requirements       []Requirement    `json:"requirements"`
}

// Environment is the host as it was when the measurement began. A field that
// could not be obtained is null, and Unknown says why under its key.
type Environment struct {
	Kernel         *string      `json:"kernel"`       // system and release, such as `linux 6.1.0`
	Machine        *string      `json:"machine"`      // such as x86_64
	CPUModel       *string      `json:"cpu_model"`    // of the first processor
	CPUCount       *int64       `json:"cpu_count"`    // logical processors of the host
	MemoryBytes    *int64       `json:"memory_bytes"` // of the host
	Governor       *string      `json:"governor"`     // of frequency scaling; several are joined with a comma
	Virtualisation *string      `json:"virtualisation"`
	Load           *[3]float64  `json:"load"` // averages of 1, 5 and 15 minutes
	Interpreter    *Interpreter `json:"interpreter"`
	Unknown        Reasons      `json:"unknown"`
}

// Interpreter is the interpreter that ${python} stood for.
type Interpreter struct {
	Executable string `json:"executable"`
	Version    string `json:"version"` // as precise as the host's files tell
}

// Reasons maps a key to why its value is null. It prints in byte order of keys.
type Reasons map[string]string

// MarshalJSON prints the same bytes each time.
func (r Reasons) MarshalJSON() ([]byte, error) {
	if r == nil {
		return []byte("{}"), nil
	}
	return json.Marshal(map[string]string(r), json.Deterministic(true))
}

// InstalledSize is what the identity's own list of files takes: the recorded
// files, the tree's entries, or the executable; for a composite, those of all
// its components. Links are never followed, and a file with several names
// counts once.
type InstalledSize struct {
	Status          Status           `json:"status"`
	Bytes           *int64           `json:"bytes"`
	Files           *int64           `json:"files"`
	Detail          *string          `json:"detail"`
	SharedLibraries *SharedLibraries `json:"shared_libraries"` // null where no executable is part of the identity
}

// SharedLibraries is what the executable's loader maps before its main: no part
// of the identity or of the installed bytes, but needed to run it.
type SharedLibraries struct {
	Bytes       *int64   `json:"bytes"` // the loader itself included
	Files       *int64   `json:"files"`
	Missing     []string `json:"missing"` // names that are to be found nowhere
	Interpreter *string  `json:"interpreter"`
	Detail      *string  `json:"detail"`
}

// Series is a probe that ran several times. Its numbers are medians over the
// samples that are COMPLETED (of an even number, the mean of the middle two);
// any failed sample makes the series ERROR.
type Series struct {
	Status      Status   `json:"status"`
	Samples     []Sample `json:"samples"` // all, in the order they ran
	Seconds     *float64 `json:"seconds"`
	User        *float64 `json:"user"`
	System      *float64 `json:"system"`
	PeakRSS     Memory   `json:"peak_rss_bytes"` // of the largest process
	OutputBytes *int64   `json:"output_bytes"`   // of both streams together
	Detail      *string  `json:"detail"`
}

// Sample is one run. It is COMPLETED when the program exited and answered as the
// manifest expects. A number may be null in a COMPLETED sample too, and then
// detail says why.
type Sample struct {
	Status      Status        `json:"status"`
	Outcome     probe.Outcome `json:"outcome"`
	ExitCode    *int          `json:"exit_code"`
	Seconds     *float64      `json:"seconds"` // wall time, from the start that succeeded to the program's end
	User        *float64      `json:"user"`    // of the whole tree of processes
	System      *float64      `json:"system"`
	PeakRSS     Memory        `json:"peak_rss_bytes"` // of the largest process
	TreeRSS     TreeMemory    `json:"tree_rss_bytes"` // of all processes at one moment
	Processes   *int64        `json:"processes"`      // started in all
	OutputBytes *int64        `json:"output_bytes"`
	Detail      *string       `json:"detail"`
}

// Memory is a peak with the way it was obtained.
type Memory struct {
	Bytes  *int64  `json:"bytes"`
	Method *string `json:"method"`
	Scope  *string `json:"scope"`
}

// TreeMemory is a peak over several processes, which is sampled: what lies
// between two samples is missed.
type TreeMemory struct {
	Bytes         *int64   `json:"bytes"`
	Method        *string  `json:"method"`
	Scope         *string  `json:"scope"`
	PeriodSeconds *float64 `json:"period_seconds"`
}

// ColdInstall is one install from an index into an empty folder with an empty
// cache. InstalledBytes is what lies in that folder, dependencies excluded where
// the installer allows it.
type ColdInstall struct {
	Status         Status   `json:"status"`
	Seconds        *float64 `json:"seconds"`
	InstalledBytes *int64   `json:"installed_bytes"`
	Installer      *string  `json:"installer"` // name and version; set also when the install failed
	Detail         *string  `json:"detail"`
}

// Requirement is one of the manifest's rules with the verdict over this record.
type Requirement struct {
	Name     string        `json:"name"`
	Says     string        `json:"says"`
	Check    string        `json:"check"`
	Verdict  judge.Verdict `json:"verdict"`
	Reported *uint64       `json:"reported"` // the number that decided
	Reason   *string       `json:"reason"`   // why it is undecided
}

// Good reports whether nothing in the record went wrong: no part is ERROR and no
// requirement is unmet. SKIPPED and undecided are not wrong.
func (r *Record) Good() bool {
	for _, s := range []Status{r.InstalledSize.Status, r.ColdStart.Status, r.ReproductionCase.Status, r.ColdInstall.Status} {
		if s == Failed {
			return false
		}
	}
	for _, q := range r.Requirements {
		if q.Verdict == judge.Unmet {
			return false
		}
	}
	return true
}
