package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/provider-measure/provider-measure/catalog"
	"github.com/provider-measure/provider-measure/provider"
)

func (s *session) catalogCommand() *cli.Command {
	return &cli.Command{
		Name:  "catalog",
		Usage: "print the catalog: the capabilities whose exact provider is identified and healthy",
		Description: "The JSON is the document of the resource " + catalog.URI + ". A built-in provider that is not available is\n" +
			"simply absent; `" + programName + " doctor` says why. An operator's provider that is not available is a failure.",
		Action: s.catalog,
	}
}

func (s *session) catalog(c *cli.Context) error {
	if c.NArg() > 0 {
		return usage("catalog takes no argument, got %q", c.Args().First())
	}
	host, err := s.open(c)
	if err != nil {
		return err
	}
	offered, report, err := catalog.Open(c.Context, host, catalog.Options{})
	if err != nil {
		return err
	}
	for _, p := range report.Providers {
		s.warn(p.Warnings)
	}
	s.warnPython(c, host)
	return s.print(offered, func(b *strings.Builder) { catalogText(b, offered, report) })
}

// warnPython says that the interpreter which somebody chose can't be had: every
// Python provider is then merely absent, and a mistyped choice would go unseen.
func (s *session) warnPython(c *cli.Context, host *provider.Host) {
	asked := c.String(flagPython) != ""
	for _, name := range []string{"PROVIDER_MEASURE_PYTHON", "VIRTUAL_ENV"} {
		value, _ := s.lookup(name)
		asked = asked || value != ""
	}
	if !asked {
		return
	}
	if _, err := host.Python(c.Context); err != nil {
		s.note(noteWarning, provider.AsError(err, provider.CodeUnavailable).Message)
	}
}

func catalogText(b *strings.Builder, offered *catalog.Catalog, report *catalog.Report) {
	width := 0
	for _, d := range offered.Capabilities() {
		width = max(width, len(d.ID()))
	}
	for _, d := range offered.Capabilities() {
		rt := d.Runtime()
		fmt.Fprintf(b, "%-*s  %s %s  %s\n", width, d.ID(), rt.Provider(), escape(rt.Version()), rt.Digest())
	}
	absent := 0
	for _, p := range report.Providers {
		absent += len(p.Capabilities) - len(p.Offered)
	}
	fmt.Fprintf(b, "%d offered, %d absent; policy %s\n", len(offered.Capabilities()), absent, report.PolicyProfile)
	if absent > 0 {
		fmt.Fprintf(b, "`%s doctor` says why the others are absent\n", programName)
	}
}
