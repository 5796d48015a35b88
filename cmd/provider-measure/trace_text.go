package main

import (
	"fmt"
	"strings"

	"github.com/provider-measure/provider-measure/probe"
	"github.com/provider-measure/provider-measure/provider"
)

// text prints the closure for a person. all lists the covered and exempt files
// as well.
func (r traceReport) text(b *strings.Builder, all bool) {
	c := r.Closure
	fmt.Fprintf(b, "%s  %s %s  %s", r.Capability, escape(c.Provider), escape(r.Version), r.Outcome)
	if r.ExitCode != nil {
		fmt.Fprintf(b, " %d", *r.ExitCode)
	}
	fmt.Fprintf(b, "\n  %-10s %s\n  %-10s %s\n", "digest", c.Digest, "", kindText(c.DigestKind))
	fmt.Fprintf(b, "  %-10s %d used: %d covered, %d not covered, %d changed, %d without content of an installation\n", "files",
		len(c.Files), c.Covered, c.Uncovered, c.Changed, c.Exempt)
	if r.Incomplete != nil {
		fmt.Fprintf(b, "  %-10s %s\n", "incomplete", escape(*r.Incomplete))
	}
	if len(c.Owners) > 0 {
		b.WriteString("  not covered, by owner\n")
	}
	for _, o := range c.Owners {
		fmt.Fprintf(b, "    %5d  %s\n", o.Files, escape(ownerText(o.Owner)))
	}
	if len(c.Composite) > 1 {
		b.WriteString("  a composite that covers more\n")
		for _, part := range c.Composite {
			fmt.Fprintf(b, "    %5d  %s\n", part.Files, escape(componentText(part)))
		}
		fmt.Fprintf(b, "    %5d  remain\n", c.Remaining)
	}
	for _, note := range c.Notes {
		fmt.Fprintf(b, "  note: %s\n", escape(note))
	}
	for _, f := range c.Files {
		if all || f.Coverage == provider.Uncovered || f.Coverage == provider.Moved {
			fmt.Fprintf(b, "  %-9s %s %s\n", f.Coverage, usesText(f.ObservedFile), escape(fileText(f)))
		}
	}
	b.WriteString("  What one run used, and no evidence of what another would use.\n")
}

func ownerText(o provider.Owner) string {
	words := []string{string(o.Kind)}
	for _, w := range []string{o.Name, o.Version, o.Root} {
		if w != "" {
			words = append(words, w)
		}
	}
	return strings.Join(words, " ")
}

func componentText(c provider.ClosureComponent) string {
	text := fmt.Sprintf("%s %s", c.Kind, c.Name)
	if c.Provider != "" {
		text = fmt.Sprintf("%s: %s", c.Provider, text)
	} else {
		text = "to be declared: " + text
	}
	if len(c.Exclude) > 0 {
		text += " without " + strings.Join(c.Exclude, ", ")
	}
	return text
}

func fileText(f provider.ClosureFile) string {
	text := f.Path
	if f.Kind != probe.FileRegular {
		text += " (" + string(f.Kind) + ")"
	}
	if f.Deleted {
		text += " (deleted)"
	}
	return text
}
