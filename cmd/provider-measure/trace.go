package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/provider-measure/provider-measure/probe"
	"github.com/provider-measure/provider-measure/provider"
)

// Options of the trace command.
const (
	flagFailUncovered = "fail-uncovered"
	flagFiles         = "files"
)

func (s *session) traceCommand() *cli.Command {
	return &cli.Command{
		Name:      "trace",
		Usage:     "run a capability's reproduction case once, and say which files it used that the provider's identity does not cover",
		ArgsUsage: "CAPABILITY",
		Description: "The result has each file that the run opened, executed or mapped, whether the declared identity covers it,\n" +
			"who owns it, and the components of a composite that would cover more. Files that are not covered are\n" +
			"information: the exit status is 0 when the case was answered as expected, 1 when it was not or when a\n" +
			"covered file changed during it, and 3 when files may be missing from the list.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: flagFailUncovered, DisableDefaultText: true, Usage: "exit with 1 when a file is not covered"},
			&cli.BoolFlag{Name: flagFiles, DisableDefaultText: true, Usage: "as text, list every file and not only those that are not covered"},
		},
		Action: s.trace,
	}
}

// traceReport is what the trace command prints.
type traceReport struct {
	TraceVersion string `json:"trace_version"`
	Capability   string `json:"capability_id"`
	Version      string `json:"provider_version"`
	// How the run ended.
	Outcome    probe.Outcome `json:"outcome"`
	ExitCode   *int          `json:"exit_code"`
	Processes  int           `json:"processes"`
	WallNS     int64         `json:"wall_ns"`
	Failed     int64         `json:"observed_failed"`
	Incomplete *string       `json:"observed_incomplete"` // why files may be missing; null when none can be

	Closure *provider.Closure `json:"closure"`
}

func (s *session) trace(c *cli.Context) error {
	if c.NArg() != 1 {
		return usage("trace takes one capability, got %d arguments", c.NArg())
	}
	host, err := s.open(c)
	if err != nil {
		return err
	}
	id := c.Args().First()
	m, _, ok := host.Set().Capability(id)
	if !ok {
		return s.unknownCapability(host.Set(), c, id)
	}
	if m.Probes.Reproduction == nil {
		return &commandError{
			Code: codeConfiguration, Message: fmt.Sprintf("the manifest of %s declares no reproduction case to trace", m.ID), Path: m.Source, exit: exitUsage,
		}
	}
	identified, err := host.Identify(c.Context, m)
	if err != nil {
		return err
	}
	s.warn(identified.Warnings)
	if identified.Failure != nil {
		return forCapability(identified.Failure, id, m)
	}
	result, wrong := host.ObserveProbe(c.Context, m, identified.Measured, m.Probes.Reproduction, provider.CodeUnavailable)
	if result == nil || c.Context.Err() != nil {
		return wrong
	}
	report := traceReport{
		TraceVersion: "1", Capability: id, Version: identified.Runtime.Version(), Outcome: result.Outcome, ExitCode: result.ExitCode,
		Processes: result.Processes, WallNS: result.Wall.Nanoseconds(), Failed: result.ObservedFailed,
	}
	if why := result.ObservedIncomplete; why != "" {
		report.Incomplete = &why
	}
	if report.Closure, err = host.Closure(c.Context, identified, result.Observed); err != nil {
		return err
	}
	s.status = s.traceFindings(report, c.Bool(flagFailUncovered))
	if err := s.print(report, func(b *strings.Builder) { report.text(b, c.Bool(flagFiles)) }); err != nil {
		return err
	}
	return wrong
}

// traceFindings says what was found on standard error and returns the exit status.
func (s *session) traceFindings(r traceReport, failUncovered bool) int {
	status := exitGood
	if r.Incomplete != nil {
		s.note(noteFinding, "files may be missing: "+*r.Incomplete)
		status = exitUnknown
	}
	if n := r.Closure.Changed; n > 0 {
		s.note(noteFinding, fmt.Sprintf("%d files of the identity are other ones than were measured", n))
		status = exitFinding
	}
	if n := r.Closure.Uncovered; n > 0 && failUncovered {
		s.note(noteFinding, fmt.Sprintf("%d files are not covered by the identity", n))
		status = exitFinding
	}
	return status
}
