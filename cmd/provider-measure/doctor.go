package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/provider-measure/provider-measure/catalog"
	"github.com/provider-measure/provider-measure/measure"
	"github.com/provider-measure/provider-measure/probe"
	"github.com/provider-measure/provider-measure/provider"
)

func (s *session) doctorCommand() *cli.Command {
	return &cli.Command{
		Name:  "doctor",
		Usage: "say what this host can enforce and measure, and why each provider is or is not offered",
		Description: "The exit status is 1 when a provider that an operator declared is not available, and 0 otherwise:\n" +
			"an absent built-in provider is no fault.",
		Action: s.doctor,
	}
}

// doctorReport is what doctor prints.
type doctorReport struct {
	DoctorVersion string              `json:"doctor_version"`
	Version       versionInfo         `json:"program"`
	Platform      string              `json:"platform"`
	Host          measure.Environment `json:"host"`
	Enforcement   probe.Report        `json:"enforcement"`
	Python        pythonReport        `json:"python"`
	ManifestDirs  []string            `json:"manifest_dirs"`
	Catalog       *catalog.Report     `json:"catalog"`
}

// pythonReport is the chosen interpreter, or why there is none.
type pythonReport struct {
	Interpreter *provider.Python `json:"interpreter"`
	Problem     *string          `json:"problem"`
	Hint        *string          `json:"hint"`
}

func (s *session) doctor(c *cli.Context) error {
	if c.NArg() > 0 {
		return usage("doctor takes no argument, got %q", c.Args().First())
	}
	host, err := s.open(c)
	if err != nil {
		return err
	}
	offered, found, err := catalog.Open(c.Context, host, catalog.Options{ReportOnly: true})
	if err != nil {
		return err
	}
	report := doctorReport{
		DoctorVersion: "1", Version: readVersion(), Platform: host.Platform(), Host: measure.ReadEnvironment(c.Context, host),
		Enforcement: probe.HostCapabilities(c.Context), Python: pythonOf(c.Context, host),
		ManifestDirs: append([]string{}, s.manifestDirs(c)...), Catalog: found,
	}
	for _, p := range found.Providers {
		if p.Failure != nil && p.Origin == provider.Operator.String() {
			s.status = exitFinding
		}
	}
	if len(found.Refused) > 0 {
		s.status = exitFinding
	}
	return s.print(report, func(b *strings.Builder) {
		report.text(b)
		fmt.Fprintf(b, "\n%d capabilities offered\n", len(offered.Capabilities()))
	})
}

func pythonOf(ctx context.Context, host *provider.Host) pythonReport {
	python, err := host.Python(ctx)
	if err == nil {
		return pythonReport{Interpreter: python}
	}
	e := provider.AsError(err, provider.CodeUnavailable)
	report := pythonReport{Problem: &e.Message}
	if e.Hint != "" {
		report.Hint = &e.Hint
	}
	return report
}

func (r doctorReport) text(b *strings.Builder) {
	fmt.Fprintf(b, "host      %s, %s\n", r.Platform, environmentText(r.Host))
	if p := r.Python.Interpreter; p != nil {
		fmt.Fprintf(b, "python    %s %s, from %s\n", escape(p.Executable), escape(p.Version), escape(p.Source))
	} else {
		fmt.Fprintf(b, "python    none: %s\n", escape(*r.Python.Problem))
		if r.Python.Hint != nil {
			fmt.Fprintf(b, "          mend: %s\n", escape(*r.Python.Hint))
		}
	}
	fmt.Fprintf(b, "engine    %s", r.Enforcement.Engine)
	if reason := r.Enforcement.EngineReason; reason != "" {
		fmt.Fprintf(b, ": %s", escape(reason))
	}
	b.WriteString("\n\nisolation of a child\n")
	for _, p := range r.Enforcement.Properties {
		capability(b, string(p.Property), p.Enforced, true, p.Method, p.Reason)
	}
	b.WriteString("\nlimits of a run\n")
	for _, l := range r.Enforcement.Limits {
		capability(b, l.Name, l.Can, l.Exact, l.Method, l.Reason)
	}
	b.WriteString("\nfigures\n")
	for _, f := range r.Enforcement.Figures {
		capability(b, f.Name, f.Can, f.Exact, f.Method, f.Reason)
	}
	b.WriteString("\nproviders\n")
	for _, p := range r.Catalog.Providers {
		providerText(b, p)
	}
	for _, refused := range r.Catalog.Refused {
		fmt.Fprintf(b, "  refused  %s of %s: %s (%s)\n", refused.CapabilityID, refused.Provider, escape(refused.Message), refused.Code)
	}
	for _, denied := range r.Catalog.Denied {
		fmt.Fprintf(b, "  denied   %s by policy: %s\n", denied.CapabilityID, strings.Join(denied.Reasons, ", "))
	}
}

func capability(b *strings.Builder, name string, can, exact bool, method, reason string) {
	how := "no "
	switch {
	case can && exact:
		how = "yes"
	case can:
		how = "yes, sampled or approximate"
	}
	fmt.Fprintf(b, "  %-14s %s", name, how)
	for _, text := range []string{method, reason} {
		if text != "" {
			fmt.Fprintf(b, ": %s", escape(text))
		}
	}
	b.WriteString("\n")
}

func providerText(b *strings.Builder, p catalog.ProviderReport) {
	state := "absent "
	if p.Failure == nil {
		state = "offered"
	}
	fmt.Fprintf(b, "  %s  %s (%s)", state, p.Provider, p.Origin)
	if p.Failure == nil && p.Runtime != nil {
		fmt.Fprintf(b, " %s %s %s", escape(p.Runtime.Version()), p.Runtime.Kind(), p.Runtime.Digest())
	}
	fmt.Fprintf(b, "\n           %s\n", strings.Join(p.Capabilities, ", "))
	if p.Failure != nil {
		code := string(p.Code)
		if p.Reason != "" {
			code += " " + p.Reason
		}
		fmt.Fprintf(b, "           why: %s (%s)\n", escape(p.Message), code)
		if p.Hint != "" {
			fmt.Fprintf(b, "           mend: %s\n", escape(p.Hint))
		}
	}
	for _, w := range p.Warnings {
		fmt.Fprintf(b, "           warning: %s\n", escape(w))
	}
}
