package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/provider-measure/provider-measure/judge"
	"github.com/provider-measure/provider-measure/measure"
	"github.com/provider-measure/provider-measure/provider"
)

// Options of the main job.
const (
	flagColdInstall = "include-cold-install"
	flagRuns        = "runs"
	defaultRuns     = measure.DefaultRuns
)

// measure is the main job.
func (s *session) measure(c *cli.Context) error {
	id := c.Args().First()
	runs := c.Int(flagRuns)
	if runs < 1 || runs > measure.MaxRuns {
		return usage("--%s %d is outside 1 to %d", flagRuns, runs, measure.MaxRuns)
	}
	host, err := s.open(c)
	if err != nil {
		return err
	}
	set := host.Set()
	m, _, ok := set.Capability(id)
	if !ok {
		return s.unknownCapability(set, c, id)
	}
	progress := s.startProgress()
	record, err := measure.Measure(c.Context, host, id, measure.Options{
		Runs: runs, ColdInstall: c.Bool(flagColdInstall), Progress: progress.event,
	})
	progress.stop()
	if err != nil {
		return forCapability(err, id, m)
	}
	s.status = recordStatus(record)
	if err := s.print(record, func(b *strings.Builder) { recordText(b, id, m, record) }); err != nil {
		return err
	}
	s.findings(record)
	return nil
}

// unknownCapability tells a mistyped command from a mistyped capability.
func (s *session) unknownCapability(set *provider.Set, c *cli.Context, id string) error {
	if _, ok := set.Provider(id); ok {
		return &commandError{
			Code: codeUnknownCapability, Message: fmt.Sprintf("%q is a provider, not a capability", id), exit: exitUsage,
			Hint: fmt.Sprintf("`%s identify %s`, or one of its capabilities: %s", programName, id, strings.Join(capabilitiesOf(set, id), ", ")),
		}
	}
	if !provider.ValidCapabilityID(id) {
		names := make([]string, 0, len(c.App.Commands))
		for _, command := range c.App.Commands {
			names = append(names, command.Name)
		}
		return unknownName(codeUsage, "command or capability", id, append(names, set.CapabilityIDs()...))
	}
	return unknownName(codeUnknownCapability, "capability", id, set.CapabilityIDs())
}

func capabilitiesOf(set *provider.Set, id string) []string {
	m, _ := set.Provider(id)
	ids := make([]string, 0, len(m.Capabilities))
	for _, c := range m.Capabilities {
		ids = append(ids, c.ID)
	}
	return ids
}

// forCapability names the capability in a provider's failure, since that is what
// was asked for.
func forCapability(err error, id string, m *provider.Manifest) error {
	var pe *provider.Error
	if !errors.As(err, &pe) {
		return err
	}
	e := providerFailure(pe)
	e.Message = fmt.Sprintf("%s is not available: provider %s", id, e.Message)
	if pe.Provider == "" {
		e.Message = fmt.Sprintf("%s is not available: provider %s: %s", id, m.ID, pe.Error())
	}
	return e
}

// recordStatus is the exit status of a record: a finding, or something that
// could not be determined, is never 0.
func recordStatus(r *measure.Record) int {
	if !r.Good() {
		return exitFinding
	}
	for _, q := range r.Requirements {
		if q.Verdict == judge.Undecided {
			return exitUnknown
		}
	}
	return exitGood
}

// findings says on standard error what is wrong with a record.
func (s *session) findings(r *measure.Record) {
	line := func(what string, detail *string) {
		text := ""
		if detail != nil {
			text = ": " + *detail
		}
		s.note(noteFinding, what+text)
	}
	if r.InstalledSize.Status == measure.Failed {
		line("installed_size", r.InstalledSize.Detail)
	}
	if r.ColdStart.Status == measure.Failed {
		line("cold_start", r.ColdStart.Detail)
	}
	if r.ReproductionCase.Status == measure.Failed {
		line("reproduction_case", r.ReproductionCase.Detail)
	}
	if r.ColdInstall.Status == measure.Failed {
		line("cold_install", r.ColdInstall.Detail)
	}
	for _, q := range r.Requirements {
		if q.Verdict != judge.Met {
			line(fmt.Sprintf("requirement %s (%s) is %s", q.Name, q.Check, q.Verdict), q.Reason)
		}
	}
}
