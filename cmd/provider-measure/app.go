package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"
)

// outside is all that the command sees of the world; main fills it in.
type outside struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	lookup         func(string) (string, bool)
	stdoutTerminal bool
	stderrTerminal bool
	etc            string // folder of the system's manifests
}

// Exit codes.
const (
	exitGood       = 0 // done, and nothing was found wrong
	exitFinding    = 1 // unavailable, changed, over budget, failed case
	exitUsage      = 2 // usage or configuration
	exitUnknown    = 3 // could not be determined
	exitUnfinished = 4 // timed out, cancelled or internal
)

// Names of the flags that every command takes.
const (
	flagFormat    = "format"
	flagPython    = "python"
	flagProviders = "providers"
	flagVersion   = "version"
)

// run is the whole command: it returns the exit status and ends nothing itself.
func run(ctx context.Context, args []string, out outside) int {
	s := &session{outside: out, help: helpWriter{to: out.stdout}}
	app := s.app()
	ordered, err := orderArguments(app, args)
	if err == nil {
		s.format = s.formatOf(ordered)
		err = app.RunContext(ctx, ordered)
	} else {
		s.format = s.formatOf(args)
	}
	err = errors.Join(err, s.help.failure(), s.close())
	if ctx.Err() != nil && err != nil {
		err = &commandError{Code: codeCancelled, Message: "stopped by a signal", exit: exitUnfinished, err: err}
	}
	if err == nil {
		return s.status
	}
	return s.report(err)
}

// session is one run of the command.
type session struct {
	outside
	format string // json or text
	// formatAsked is whether --format chose it, rather than where output goes.
	formatAsked bool
	status      int // what to end with when nothing failed
	closes      []func() error
	help        helpWriter
}

func (s *session) close() error {
	var errs []error
	for i := len(s.closes) - 1; i >= 0; i-- {
		errs = append(errs, s.closes[i]())
	}
	s.closes = nil
	return errors.Join(errs...)
}

func (s *session) app() *cli.App {
	app := &cli.App{
		Name:      programName,
		Usage:     "measure, identify and offer the runtimes that execute an agent host's capabilities",
		UsageText: programName + " CAPABILITY [--include-cold-install] [--runs N]\n" + programName + " COMMAND [options] [arguments]",
		Description: "The main job measures one capability's provider: its identity, installed size, cold start, a small\n" +
			"reproduction case and, if asked, a cold install. For example:\n\n" +
			"   " + programName + " graph.compute.properties --runs 5\n\n" +
			"Operational provenance is never evidence that an answer is true.",
		HideVersion:            true,
		HideHelpCommand:        true,
		Writer:                 &s.help,
		ErrWriter:              s.stderr,
		ExitErrHandler:         func(*cli.Context, error) {}, // an exit status is ours to choose
		OnUsageError:           usageError,
		CustomAppHelpTemplate:  appHelp,
		UseShortOptionHandling: false,
		Flags: append(s.commonFlags(),
			&cli.BoolFlag{Name: flagVersion, DisableDefaultText: true, Usage: "print the version with the revision that it was built from"},
			&cli.BoolFlag{Name: flagColdInstall, DisableDefaultText: true, Usage: "also install the provider from nothing into a temporary folder, over the network", Category: categoryMain},
			&cli.IntFlag{Name: flagRuns, Usage: "samples of cold start and of reproduction, `N` from 1 to 1000", Value: defaultRuns, Category: categoryMain},
		),
		Action: s.rootAction,
	}
	app.Commands = []*cli.Command{
		s.doctorCommand(), s.catalogCommand(), s.identifyCommand(), s.digestCommand(), s.probeCommand(), s.traceCommand(),
		s.schemaCommand(), s.explainCommand(), s.completionCommand(),
	}
	for _, c := range app.Commands {
		c.OnUsageError = usageError
		c.HideHelpCommand = true
		c.CustomHelpTemplate = commandHelp
		c.Before = refuseMainOptions
	}
	return app
}

// mainOptions are those of the program that no command takes.
func mainOptions() []string { return []string{flagRuns, flagColdInstall, flagVersion} }

// refuseMainOptions keeps the main job's options, which the parser knows in any
// position, from being taken and ignored by a command.
func refuseMainOptions(c *cli.Context) error {
	for _, name := range mainOptions() {
		if c.IsSet(name) {
			return usage("--%s is not an option of %s", name, c.Command.Name)
		}
	}
	return nil
}

const (
	programName  = "provider-measure"
	categoryMain = "Options of the main job:"
)

func (s *session) commonFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: flagFormat, Usage: "`FORMAT` of the result: json or text; default text on a terminal, json elsewhere"},
		&cli.StringFlag{Name: flagPython, Usage: "interpreter or environment folder `PATH`; default $PROVIDER_MEASURE_PYTHON, $VIRTUAL_ENV, python3 on PATH"},
		&cli.StringSliceFlag{Name: flagProviders, Usage: "folder `DIR` with manifests of the operator's own; may be repeated, also $PROVIDER_MEASURE_PROVIDERS"},
	}
}

// usageError keeps urfave/cli from printing help on standard output.
func usageError(_ *cli.Context, err error, _ bool) error {
	return &commandError{Code: codeUsage, Message: err.Error(), Hint: "see " + programName + " --help", exit: exitUsage}
}

func (s *session) rootAction(c *cli.Context) error {
	if err := s.checkFormat(c); err != nil {
		return err
	}
	switch {
	case c.Bool(flagVersion):
		return s.printVersion()
	case c.NArg() == 0:
		return cli.ShowAppHelp(c)
	case c.NArg() > 1:
		return usage("one capability at a time, got %d arguments: %s", c.NArg(), strings.Join(c.Args().Slice(), " "))
	}
	return s.measure(c)
}

// formatOf finds --format before the arguments are parsed, so that an error in
// them is reported in the form that was asked for.
func (s *session) formatOf(args []string) string {
	format := ""
	for i, a := range args {
		if a == "--" {
			break
		}
		if value, ok := strings.CutPrefix(strings.TrimPrefix(a, "-"), "-"+flagFormat+"="); ok {
			format = value
		}
		if (a == "--"+flagFormat || a == "-"+flagFormat) && i+1 < len(args) {
			format = args[i+1]
		}
	}
	switch {
	case format == formatJSON || format == formatText:
		s.formatAsked = true
		return format
	case s.stdoutTerminal:
		return formatText
	}
	return formatJSON
}

func (s *session) checkFormat(c *cli.Context) error {
	switch f := c.String(flagFormat); f {
	case "", formatJSON, formatText:
		return nil
	default:
		return usage("--%s %q is neither json nor text", flagFormat, f)
	}
}

func usage(format string, args ...any) error {
	return &commandError{Code: codeUsage, Message: fmt.Sprintf(format, args...), Hint: "see " + programName + " --help", exit: exitUsage}
}
