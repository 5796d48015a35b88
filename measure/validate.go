package measure

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"unicode/utf8"

	"github.com/provider-measure/provider-measure/judge"
	"github.com/provider-measure/provider-measure/probe"
)

const (
	// maxWhole is the largest number that every reader of JSON holds exactly.
	maxWhole = 1<<53 - 1
	// maxSeconds is far above any time-out, and keeps microseconds exact.
	maxSeconds = 1e9
	// maxLoad is more runnable threads than a host can have.
	maxLoad = 1e9
	// maxRequirements and maxLibraries bound lists that a manifest or an
	// executable makes.
	maxRequirements = 1024
	maxLibraries    = 4096
)

// Validate checks every rule of the record: bounds, that each part has what its
// status needs, that an unknown fact has a reason, that what a series quotes
// follows from its samples, and that each verdict follows from the record's own
// numbers. The failure is [CodeRecordInvalid] and names the member.
func (r *Record) Validate() error {
	c := &checker{}
	c.that(r.MeasurementVersion == Version, "/measurement_version", "is %q, want %q", r.MeasurementVersion, Version)
	c.that(r.ProviderRuntime.Available(), "/provider_runtime", "is not AVAILABLE, and only what is available is measured")
	c.that(regexp.MustCompile(`^sha256:[0-9a-f]{64}$`).MatchString(r.ProbeContract.String()), "/probe_contract", "%q is not a sha256 digest", r.ProbeContract)
	c.environment(&r.Environment)
	c.installedSize(&r.InstalledSize)
	c.series("/cold_start", &r.ColdStart)
	c.series("/reproduction_case", &r.ReproductionCase)
	c.coldInstall(&r.ColdInstall)
	c.requirements(r)
	if c.err == nil {
		return nil
	}
	return c.err
}

// checker keeps the first failure only, so that the checks read as a list.
type checker struct{ err *Error }

func (c *checker) that(ok bool, pointer, format string, args ...any) {
	if ok || c.err != nil {
		return
	}
	c.err = &Error{Code: CodeRecordInvalid, Op: "check record", Path: pointer, Err: fmt.Errorf(format, args...)}
}

func (c *checker) text(pointer string, s *string, most int) {
	if s == nil {
		return
	}
	n := utf8.RuneCountInString(*s)
	c.that(utf8.ValidString(*s) && n >= 1 && n <= most, pointer, "has %d characters, allowed are 1 to %d", n, most)
}

func (c *checker) whole(pointer string, n *int64, least int64) {
	if n != nil {
		c.that(*n >= least && *n <= maxWhole, pointer, "is %d, allowed are %d to %d", *n, least, int64(maxWhole))
	}
}

func (c *checker) time(pointer string, s *float64) {
	if s == nil {
		return
	}
	c.that(*s >= 0 && *s <= maxSeconds, pointer, "is %v, allowed are 0 to %v", *s, float64(maxSeconds))
	c.that(*s == *fromMicros(micros(*s)), pointer, "is %v, finer than a microsecond", *s)
}

func (c *checker) status(pointer string, s Status, detail *string, numbers bool) {
	switch s {
	case Completed:
		c.that(numbers, pointer, "is COMPLETED without its numbers")
	case Skipped, Failed:
		c.that(detail != nil, pointer, "is %s without a detail", s)
	default:
		c.that(false, pointer+"/status", "%q is none of COMPLETED, SKIPPED, ERROR", s)
	}
	c.text(pointer+"/detail", detail, maxDetail)
}

func (c *checker) environment(e *Environment) {
	present := map[string]bool{
		"kernel": e.Kernel != nil, "machine": e.Machine != nil, "cpu_model": e.CPUModel != nil, "cpu_count": e.CPUCount != nil,
		"memory_bytes": e.MemoryBytes != nil, "governor": e.Governor != nil, "virtualisation": e.Virtualisation != nil,
		"load": e.Load != nil, "interpreter": e.Interpreter != nil,
	}
	for key, has := range present {
		reason, unknown := e.Unknown[key]
		c.that(has != unknown, "/environment/"+key, "must have either a value or a reason in unknown")
		if unknown {
			c.text("/environment/unknown/"+key, &reason, maxDetail)
		}
	}
	for key := range e.Unknown {
		_, known := present[key]
		c.that(known, "/environment/unknown", "%q is no fact of the environment", key)
	}
	for pointer, s := range map[string]*string{
		"kernel": e.Kernel, "machine": e.Machine, "cpu_model": e.CPUModel, "governor": e.Governor, "virtualisation": e.Virtualisation,
	} {
		c.text("/environment/"+pointer, s, maxDetail)
	}
	c.whole("/environment/cpu_count", e.CPUCount, 1)
	c.whole("/environment/memory_bytes", e.MemoryBytes, 1)
	if e.Load != nil {
		for _, v := range e.Load {
			c.that(v >= 0 && v <= maxLoad, "/environment/load", "holds %v", v)
		}
	}
	if e.Interpreter != nil {
		c.text("/environment/interpreter/executable", &e.Interpreter.Executable, 4096)
		c.text("/environment/interpreter/version", &e.Interpreter.Version, 128)
	}
}

func (c *checker) installedSize(s *InstalledSize) {
	const at = "/installed_size"
	c.status(at, s.Status, s.Detail, s.Bytes != nil && s.Files != nil)
	c.that(s.Status == Completed || (s.Bytes == nil && s.Files == nil), at, "has numbers and is %s", s.Status)
	c.whole(at+"/bytes", s.Bytes, 0)
	c.whole(at+"/files", s.Files, 1)
	libs := s.SharedLibraries
	if libs == nil {
		return
	}
	const in = at + "/shared_libraries"
	c.whole(in+"/bytes", libs.Bytes, 0)
	c.whole(in+"/files", libs.Files, 0)
	c.text(in+"/interpreter", libs.Interpreter, 4096)
	c.text(in+"/detail", libs.Detail, maxDetail)
	c.that((libs.Bytes == nil) == (libs.Files == nil), in, "has only one of bytes and files")
	c.that(libs.Bytes != nil || libs.Detail != nil, in, "lacks its numbers without a detail")
	c.that(libs.Missing != nil && len(libs.Missing) <= maxLibraries, in+"/missing", "is null, or has more than %d names", maxLibraries)
	for i, name := range libs.Missing {
		c.text(fmt.Sprintf("%s/missing/%d", in, i), &name, maxDetail)
	}
}

func (c *checker) coldInstall(s *ColdInstall) {
	const at = "/cold_install"
	c.status(at, s.Status, s.Detail, s.Seconds != nil && s.InstalledBytes != nil && s.Installer != nil)
	c.that(s.Status == Completed || (s.Seconds == nil && s.InstalledBytes == nil), at, "has numbers and is %s", s.Status)
	c.time(at+"/seconds", s.Seconds)
	c.whole(at+"/installed_bytes", s.InstalledBytes, 0)
	c.text(at+"/installer", s.Installer, 128)
}

func (c *checker) series(at string, s *Series) {
	c.status(at, s.Status, s.Detail, s.Seconds != nil && s.OutputBytes != nil)
	c.that(s.Samples != nil && len(s.Samples) <= MaxRuns, at+"/samples", "is null, or has more than %d samples", MaxRuns)
	for i := range s.Samples {
		c.sample(fmt.Sprintf("%s/samples/%d", at, i), &s.Samples[i])
	}
	if c.err != nil {
		return
	}
	if s.Status == Skipped {
		c.that(len(s.Samples) == 0, at+"/samples", "is SKIPPED and has samples")
	}
	want := summarise(s.Samples)
	if s.Status == Completed {
		c.that(want.Status == Completed, at, "is COMPLETED with a failed sample, or none")
		c.that((s.Detail == nil) == (want.Detail == nil), at+"/detail", "must say which numbers are absent, and nothing else")
	}
	got := *s
	got.Status, got.Detail, want.Status, want.Detail = "", nil, "", nil
	c.that(reflect.DeepEqual(got, want), at, "quotes numbers that do not follow from its samples")
}

func (c *checker) sample(at string, s *Sample) {
	c.that(s.Status == Completed || s.Status == Failed, at+"/status", "%q is neither COMPLETED nor ERROR", s.Status)
	c.that(s.Outcome != probe.Unknown, at+"/outcome", "is unknown")
	c.that((s.ExitCode != nil) == (s.Outcome == probe.Exited), at+"/exit_code", "must be there exactly when the outcome is EXITED")
	c.that(s.ExitCode == nil || (*s.ExitCode >= 0 && *s.ExitCode <= 255), at+"/exit_code", "is no exit code")
	if s.Status == Completed {
		c.that(s.Outcome == probe.Exited && s.Seconds != nil && s.OutputBytes != nil, at, "is COMPLETED and did not exit, or lacks its time")
	} else {
		c.that(s.Detail != nil, at, "is ERROR without a detail")
	}
	absent := s.Seconds == nil || s.User == nil || s.System == nil || s.PeakRSS.Bytes == nil || s.TreeRSS.Bytes == nil || s.Processes == nil || s.OutputBytes == nil
	c.that(!absent || s.Detail != nil, at, "lacks a number without a detail")
	c.that((s.User == nil) == (s.System == nil), at, "has only one of user and system")
	c.time(at+"/seconds", s.Seconds)
	c.time(at+"/user", s.User)
	c.time(at+"/system", s.System)
	c.whole(at+"/processes", s.Processes, 1)
	c.whole(at+"/output_bytes", s.OutputBytes, 0)
	c.text(at+"/detail", s.Detail, maxDetail)
	c.memory(at+"/peak_rss_bytes", s.PeakRSS)
	c.memory(at+"/tree_rss_bytes", Memory{Bytes: s.TreeRSS.Bytes, Method: s.TreeRSS.Method, Scope: s.TreeRSS.Scope})
	c.time(at+"/tree_rss_bytes/period_seconds", s.TreeRSS.PeriodSeconds)
}

func (c *checker) memory(at string, m Memory) {
	c.whole(at+"/bytes", m.Bytes, 1)
	c.text(at+"/method", m.Method, maxDetail)
	c.text(at+"/scope", m.Scope, maxDetail)
	c.that(m.Bytes == nil || (m.Method != nil && m.Scope != nil), at, "has bytes without the method and scope")
}

func (c *checker) requirements(r *Record) {
	const at = "/requirements"
	c.that(r.Requirements != nil && len(r.Requirements) <= maxRequirements, at, "is null, or has more than %d entries", maxRequirements)
	names := map[string]bool{}
	for i, q := range r.Requirements {
		in := fmt.Sprintf("%s/%d", at, i)
		c.text(in+"/name", &q.Name, 64)
		c.text(in+"/says", &q.Says, 256)
		c.text(in+"/check", &q.Check, 256)
		c.that(!names[q.Name], in+"/name", "%q is there twice", q.Name)
		names[q.Name] = true
		if _, err := judge.ParseCheck(q.Check); err != nil {
			c.that(false, in+"/check", "%w", err)
		}
		want := r.judge(q.Name, q.Says, q.Check)
		c.that(reflect.DeepEqual(q, want), in, "does not follow from the record: the verdict is %s", want.Verdict)
	}
}

// asInvalid makes any failure one of this package.
func asInvalid(code Code, op string, err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Code: code, Op: op, Err: err}
}
