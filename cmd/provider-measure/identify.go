package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/provider-measure/provider-measure/provider"
)

func (s *session) identifyCommand() *cli.Command {
	return &cli.Command{
		Name:      "identify",
		Usage:     "measure a provider's identity and print its runtime identity record",
		ArgsUsage: "PROVIDER|CAPABILITY",
		Action:    s.identify,
	}
}

func (s *session) identify(c *cli.Context) error {
	if c.NArg() != 1 {
		return usage("identify takes one provider or capability, got %d arguments", c.NArg())
	}
	host, err := s.open(c)
	if err != nil {
		return err
	}
	m, err := findProvider(host.Set(), c.Args().First())
	if err != nil {
		return err
	}
	id, err := host.Identify(c.Context, m)
	if err != nil {
		return err
	}
	s.warn(id.Warnings)
	if err := s.print(id.Runtime, func(b *strings.Builder) { identityText(b, id) }); err != nil {
		return err
	}
	if id.Failure != nil {
		return id.Failure
	}
	return nil
}

// warn writes what is odd to standard error.
func (s *session) warn(warnings []string) {
	for _, w := range warnings {
		s.note(noteWarning, w)
	}
}

func identityText(b *strings.Builder, id provider.Identification) {
	rt, m := id.Runtime, id.Manifest
	record := rt.Record()
	fmt.Fprintf(b, "%s  %s\n", escape(rt.Provider()), record.Availability)
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(b, "  %-12s %s\n", name, escape(value))
		}
	}
	row("title", m.Title)
	row("version", rt.Version())
	row("digest", rt.Digest().String())
	row("covers", kindText(rt.Kind()))
	row("platform", record.Platform)
	row("tier", string(record.InstallTier))
	row("licence", record.LicenseID)
	row("licences in", strings.Join(record.LicenseFiles, ", "))
	row("features", strings.Join(record.Features, ", "))
	row("manifest", fmt.Sprintf("%s (%s)", m.Source, m.Origin))
	row("reason", rt.Diagnostic())
}
