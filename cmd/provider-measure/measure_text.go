package main

import (
	"fmt"
	"strings"

	"github.com/provider-measure/provider-measure/judge"
	"github.com/provider-measure/provider-measure/measure"
	"github.com/provider-measure/provider-measure/provider"
)

// recordText prints a measurement record for a person.
func recordText(b *strings.Builder, capability string, m *provider.Manifest, r *measure.Record) {
	rt := r.ProviderRuntime
	fmt.Fprintf(b, "%s  %s %s  AVAILABLE\n", capability, escape(m.Title), escape(rt.Version()))
	row := func(name, value string) { fmt.Fprintf(b, "  %-14s %s\n", name, value) }
	row("digest", rt.Digest().String())
	row("", kindText(rt.Kind()))
	row("installed", installedText(r.InstalledSize))
	if l := r.InstalledSize.SharedLibraries; l != nil {
		row("", librariesText(l))
	}
	row("cold start", seriesText(r.ColdStart))
	row("reproduction", seriesText(r.ReproductionCase))
	row("cold install", coldInstallText(r.ColdInstall))
	for _, q := range r.Requirements {
		row("requirement", requirementText(q))
	}
	row("host", environmentText(r.Environment))
	if p := r.Environment.Interpreter; p != nil {
		row("interpreter", escape(p.Executable+" "+p.Version))
	}
	b.WriteString("  Provenance of the runtime, and no evidence that its answers are true.\n")
}

func installedText(i measure.InstalledSize) string {
	if i.Status != measure.Completed {
		return statusText(i.Status, i.Detail)
	}
	return fmt.Sprintf("%s in %s", bytesText(i.Bytes), countText(*i.Files, "file", "files"))
}

func librariesText(l *measure.SharedLibraries) string {
	if l.Bytes == nil || l.Files == nil {
		return "shared libraries: " + textOf(l.Detail)
	}
	text := fmt.Sprintf("and %s in %s that it loads", bytesText(l.Bytes), countText(*l.Files, "shared library", "shared libraries"))
	if len(l.Missing) > 0 {
		text += "; not found: " + escape(strings.Join(l.Missing, ", "))
	}
	return text
}

func seriesText(s measure.Series) string {
	if s.Status != measure.Completed {
		return statusText(s.Status, s.Detail)
	}
	text := fmt.Sprintf("median %s (user %s, system %s) of %d", secondsText(s.Seconds), secondsText(s.User), secondsText(s.System), len(s.Samples))
	if s.PeakRSS.Bytes == nil {
		return text + ", peak memory unknown: " + textOf(s.Detail)
	}
	return fmt.Sprintf("%s, peak memory %s (%s)", text, bytesText(s.PeakRSS.Bytes), escape(textOf(s.PeakRSS.Method)))
}

func coldInstallText(c measure.ColdInstall) string {
	if c.Status != measure.Completed {
		return statusText(c.Status, c.Detail)
	}
	return fmt.Sprintf("%s, %s installed by %s", secondsText(c.Seconds), bytesText(c.InstalledBytes), escape(textOf(c.Installer)))
}

func requirementText(q measure.Requirement) string {
	text := fmt.Sprintf("%s: %s (%s)", q.Verdict, escape(q.Says), q.Check)
	switch {
	case q.Verdict == judge.Undecided:
		text += ": " + escape(textOf(q.Reason))
	case q.Reported != nil:
		text += fmt.Sprintf(", reported %d", *q.Reported)
	}
	return text
}

func environmentText(e measure.Environment) string {
	var parts []string
	for _, p := range []*string{e.Kernel, e.Machine, e.CPUModel} {
		if p != nil {
			parts = append(parts, escape(*p))
		}
	}
	if e.CPUCount != nil {
		parts = append(parts, fmt.Sprintf("%d processors", *e.CPUCount))
	}
	if e.MemoryBytes != nil {
		parts = append(parts, bytesText(e.MemoryBytes)+" memory")
	}
	if e.Virtualisation != nil && *e.Virtualisation != "" {
		parts = append(parts, "virtualisation "+escape(*e.Virtualisation))
	}
	if len(e.Load) == 3 {
		parts = append(parts, fmt.Sprintf("load %.2f", e.Load[0]))
	}
	return strings.Join(parts, ", ")
}

func statusText(s measure.Status, detail *string) string {
	return fmt.Sprintf("%s: %s", s, escape(textOf(detail)))
}

func textOf(p *string) string {
	if p == nil {
		return "unknown"
	}
	return *p
}

func countText(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// secondsText keeps three digits that mean something.
func secondsText(seconds *float64) string {
	switch {
	case seconds == nil:
		return "unknown"
	case *seconds < 1:
		return fmt.Sprintf("%.3g ms", *seconds*1000)
	}
	return fmt.Sprintf("%.3g s", *seconds)
}

// bytesText uses powers of 1024, as the tools beside it do.
func bytesText(n *int64) string {
	if n == nil {
		return "unknown"
	}
	const unit = 1024
	value, suffixes := float64(*n), []string{"B", "KiB", "MiB", "GiB", "TiB"}
	i := 0
	for value >= unit && i < len(suffixes)-1 {
		value, i = value/unit, i+1
	}
	if i == 0 {
		return fmt.Sprintf("%d B", *n)
	}
	return fmt.Sprintf("%.1f %s", value, suffixes[i])
}

// stageText is one line of progress.
func stageText(e measure.Event) string {
	text := strings.ReplaceAll(e.Stage, "_", " ")
	if e.Total > 1 {
		text += fmt.Sprintf(" %d/%d", e.Done, e.Total)
	}
	if e.Detail != "" {
		text += " " + escape(e.Detail)
	}
	return text
}
