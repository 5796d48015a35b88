package measure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/provider-measure/provider-measure/probe"
	"github.com/provider-measure/provider-measure/provider"
)

// series runs a probe as often as the options say. The error ends the whole
// measurement: the context's own, or that the executable is no longer the
// measured one. All else is in the series.
func (m *measurement) series(ctx context.Context, stage string, p *provider.Probe) (Series, error) {
	if p == nil {
		return Series{Status: Skipped, Samples: []Sample{}, Detail: detail(CodeNotDeclared, "the manifest has no probes."+strings.TrimSuffix(stage, "_case"))}, nil
	}
	var samples []Sample
	for i := range m.runs {
		m.progress(stage, i, m.runs, "")
		result, err := m.host.RunProbe(ctx, m.manifest, m.id.Measured, p, provider.CodeUnavailable)
		if cause := ctx.Err(); cause != nil {
			return Series{}, cause
		}
		if errors.Is(err, provider.CodeIdentityChanged) {
			return Series{}, err
		}
		if result == nil {
			// The run could not be set up, and the next one could not either.
			s := summarise(samples)
			s.Status, s.Detail = Failed, detail(reasonOf(err, CodeSampleFailed), messageOf(err))
			return s, nil
		}
		samples = append(samples, newSample(result, err))
	}
	m.progress(stage, m.runs, m.runs, "")
	return summarise(samples), nil
}

// newSample records one run; failure is why it counts as wrong, nil when it went
// as expected.
func newSample(r *probe.Result, failure error) Sample {
	s := Sample{Status: Completed, Outcome: r.Outcome, ExitCode: r.ExitCode}
	var why []string
	if failure != nil {
		s.Status = Failed
		why = append(why, reasonOf(failure, CodeSampleFailed).Error()+": "+messageOf(failure))
	}
	started := r.Outcome != probe.StartFailed && r.Outcome != probe.IdentityChanged && r.Wall > 0
	if !started {
		s.PeakRSS.Scope, s.TreeRSS.Scope = scope(r.Memory.Process), scope(r.Memory.Tree)
		why = append(why, "nothing ran, so there are no numbers")
		s.Detail = joined(why)
		return s
	}
	s.Seconds = seconds(r.Wall)
	if r.CPU.Reason == "" {
		s.User, s.System = seconds(r.User), seconds(r.System)
	} else {
		why = append(why, "user and system: "+r.CPU.Reason)
	}
	s.PeakRSS.Bytes, s.PeakRSS.Method, s.PeakRSS.Scope = figure(r.Memory.Process)
	s.TreeRSS.Bytes, s.TreeRSS.Method, s.TreeRSS.Scope = figure(r.Memory.Tree)
	if s.PeakRSS.Bytes == nil {
		why = append(why, "peak_rss_bytes: "+orUnknown(r.Memory.Process.Reason))
	}
	if s.TreeRSS.Bytes == nil {
		why = append(why, "tree_rss_bytes: "+orUnknown(r.Memory.Tree.Reason))
	}
	if r.Memory.Tree.Period > 0 {
		s.TreeRSS.PeriodSeconds = seconds(r.Memory.Tree.Period)
	}
	if r.Counted {
		n := int64(r.Processes)
		s.Processes = &n
	} else {
		why = append(why, fmt.Sprintf("processes: at least %d, found by searching", r.Processes))
	}
	n := int64(len(r.Stdout) + len(r.Stderr))
	s.OutputBytes = &n
	s.Detail = joined(why)
	return s
}

// figure takes a figure over; a peak of 0 bytes is no peak that was seen.
func figure(f probe.Figure) (bytes *int64, method, where *string) {
	if f.Bytes != nil && *f.Bytes > 0 {
		n := *f.Bytes
		bytes = &n
	}
	if f.Method != "" {
		text := clean(f.Method)
		method = &text
	}
	return bytes, method, scope(f)
}

func scope(f probe.Figure) *string {
	if f.Scope == "" {
		return nil
	}
	text := f.Scope
	return &text
}

func orUnknown(reason string) string {
	if reason == "" {
		return "could not be obtained"
	}
	return reason
}

// summarise computes what a series quotes, from its samples alone, so that
// [Record.Validate] can do it again.
func summarise(samples []Sample) Series {
	s := Series{Status: Completed, Samples: slices.Clone(samples)}
	if s.Samples == nil {
		s.Samples = []Sample{}
	}
	done := make([]Sample, 0, len(samples))
	for _, x := range samples {
		if x.Status == Completed {
			done = append(done, x)
		}
	}
	s.Seconds = medianSeconds(done, func(x Sample) *float64 { return x.Seconds })
	s.User = medianSeconds(done, func(x Sample) *float64 { return x.User })
	s.System = medianSeconds(done, func(x Sample) *float64 { return x.System })
	s.OutputBytes = medianOf(done, func(x Sample) *int64 { return x.OutputBytes })
	s.PeakRSS = medianPeak(done)
	s.Status, s.Detail = verdictOn(samples, done, s)
	return s
}

// verdictOn decides the status of a series and says why.
func verdictOn(samples, done []Sample, s Series) (Status, *string) {
	if failed := len(samples) - len(done); failed > 0 || len(samples) == 0 {
		text := fmt.Sprintf("%d of %d samples failed", failed, len(samples))
		for i, x := range samples {
			if x.Status != Completed && x.Detail != nil {
				text = fmt.Sprintf("%s; %s, first sample %d", *x.Detail, text, i+1)
				break
			}
		}
		text = clean(text)
		return Failed, &text
	}
	var why []string
	for _, q := range []struct {
		key string
		has func(Sample) bool
	}{
		{"user and system", func(x Sample) bool { return x.User != nil && x.System != nil }},
		{"peak_rss_bytes", func(x Sample) bool { return x.PeakRSS.Bytes != nil }},
	} {
		n := 0
		for _, x := range done {
			if q.has(x) {
				n++
			}
		}
		if n < len(done) {
			why = append(why, fmt.Sprintf("%s: %s: obtained in %d of %d samples", CodeNotMeasured, q.key, n, len(done)))
		}
	}
	return s.Status, joined(why)
}

func medianOf(samples []Sample, get func(Sample) *int64) *int64 {
	var values []int64
	for _, x := range samples {
		if v := get(x); v != nil {
			values = append(values, *v)
		}
	}
	if len(values) == 0 {
		return nil
	}
	n := median(values)
	return &n
}

func medianSeconds(samples []Sample, get func(Sample) *float64) *float64 {
	n := medianOf(samples, func(x Sample) *int64 {
		v := get(x)
		if v == nil {
			return nil
		}
		us := micros(*v)
		return &us
	})
	if n == nil {
		return nil
	}
	return fromMicros(*n)
}

// medianPeak quotes every method that took part.
func medianPeak(samples []Sample) Memory {
	peak := Memory{Bytes: medianOf(samples, func(x Sample) *int64 { return x.PeakRSS.Bytes })}
	if peak.Bytes == nil {
		return peak
	}
	var methods, scopes []string
	for _, x := range samples {
		if x.PeakRSS.Bytes != nil && x.PeakRSS.Method != nil && x.PeakRSS.Scope != nil {
			methods, scopes = append(methods, *x.PeakRSS.Method), append(scopes, *x.PeakRSS.Scope)
		}
	}
	peak.Method, peak.Scope = unique(methods), unique(scopes)
	return peak
}

func unique(texts []string) *string {
	slices.Sort(texts)
	return joined(slices.Compact(texts))
}
