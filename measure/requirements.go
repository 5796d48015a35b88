package measure

import (
	"fmt"

	"github.com/provider-measure/provider-measure/judge"
	"github.com/provider-measure/provider-measure/provider"
)

// reported lists the numbers of a record under the names that checks use, from
// the parts that are COMPLETED only: a median over the samples that happened to
// work decides nothing. Times are whole milliseconds, rounded up.
func (r *Record) reported() map[string]uint64 {
	out := map[string]uint64{}
	whole := func(name string, n *int64) {
		if n != nil && *n >= 0 {
			out[name] = uint64(*n)
		}
	}
	ms := func(name string, s *float64) {
		if s != nil && *s >= 0 {
			out[name] = milliseconds(*s)
		}
	}
	if r.ColdStart.Status == Completed {
		ms("cold-start-ms", r.ColdStart.Seconds)
		whole("cold-start-peak-rss-bytes", r.ColdStart.PeakRSS.Bytes)
	}
	if r.ReproductionCase.Status == Completed {
		ms("reproduction-ms", r.ReproductionCase.Seconds)
		whole("reproduction-peak-rss-bytes", r.ReproductionCase.PeakRSS.Bytes)
	}
	if r.InstalledSize.Status == Completed {
		whole("installed-bytes", r.InstalledSize.Bytes)
		whole("installed-files", r.InstalledSize.Files)
	}
	if r.ColdInstall.Status == Completed {
		ms("cold-install-ms", r.ColdInstall.Seconds)
		whole("cold-install-bytes", r.ColdInstall.InstalledBytes)
	}
	return out
}

// part names the record's part that a measurement comes from, with its status.
func (r *Record) part(measurement string) string {
	switch measurement {
	case "cold-start-ms", "cold-start-peak-rss-bytes":
		return fmt.Sprintf("cold_start is %s", r.ColdStart.Status)
	case "reproduction-ms", "reproduction-peak-rss-bytes":
		return fmt.Sprintf("reproduction_case is %s", r.ReproductionCase.Status)
	case "installed-bytes", "installed-files":
		return fmt.Sprintf("installed_size is %s", r.InstalledSize.Status)
	case "cold-install-ms", "cold-install-bytes":
		return fmt.Sprintf("cold_install is %s", r.ColdInstall.Status)
	}
	return "a record has no such number"
}

// judged decides the manifest's requirements over the record.
func judged(rules []provider.Requirement, r *Record) []Requirement {
	out := make([]Requirement, 0, len(rules))
	for _, rule := range rules {
		out = append(out, r.judge(rule.Name, rule.Says, rule.Check))
	}
	return out
}

func (r *Record) judge(name, says, text string) Requirement {
	q := Requirement{Name: name, Says: says, Check: text, Verdict: judge.Undecided}
	check, err := judge.ParseCheck(text)
	if err != nil {
		reason := clean(err.Error())
		q.Reason = &reason
		return q
	}
	finding := judge.Judge(check, r.reported())
	q.Verdict, q.Reported = finding.Verdict, finding.Reported
	if finding.Verdict == judge.Undecided {
		reason := clean(finding.Reason + ": " + r.part(check.Measurement))
		q.Reason = &reason
	}
	return q
}
