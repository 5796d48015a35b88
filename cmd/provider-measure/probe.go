package main

import (
	"encoding/base64"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	godigest "github.com/opencontainers/go-digest"
	"github.com/urfave/cli/v2"

	"github.com/provider-measure/provider-measure/digest"
	"github.com/provider-measure/provider-measure/internal/hostpath"
	"github.com/provider-measure/provider-measure/probe"
)

// Options of the probe command.
const (
	flagTimeout   = "timeout"
	flagCPU       = "cpu"
	flagMemory    = "memory"
	flagFileSize  = "file-size"
	flagStdoutMax = "stdout-limit"
	flagStderrMax = "stderr-limit"
	flagProcesses = "processes"
	flagOpenFiles = "open-files"
	flagNetwork   = "network"
	flagRequire   = "require"
	flagRead      = "read"
	flagWrite     = "write"
	flagNamespace = "namespace"
	flagEnv       = "env"
	flagSet       = "set"
	flagPath      = "path"
	flagStdin     = "stdin"
	flagRepeat    = "repeat"
	flagExpect    = "expect"
	flagObserve   = "observe"
	flagJSON      = "json"
)

func (s *session) probeCommand() *cli.Command {
	return &cli.Command{
		Name:      "probe",
		Usage:     "run any command once or more, bounded, sanitized and observed, and say what was enforced",
		ArgsUsage: "-- COMMAND [ARGUMENT...]",
		Description: "COMMAND is a path, or a name that is looked up on the host's PATH; there is no shell. It runs in a private\n" +
			"scratch folder with an environment of its own, and when the program ends no process of it is left.\n" +
			"${scratch} in its arguments stands for that folder. The exit status is 0 when every run exited with 0 and\n" +
			"1 otherwise; the command's own status is in the result.",
		Flags: []cli.Flag{
			&cli.IntFlag{Name: flagRepeat, Aliases: []string{"n"}, Value: 1, Usage: "run it `N` times, from 1 to 1000"},
			&cli.DurationFlag{Name: flagTimeout, Usage: "limit of wall time, such as 30s (default 1m)"},
			&cli.DurationFlag{Name: flagCPU, Usage: "limit of CPU time of the whole tree (default 5m)"},
			&cli.StringFlag{Name: flagMemory, Usage: "limit of memory of the whole tree, `SIZE` such as 512M (default 4G)"},
			&cli.StringFlag{Name: flagFileSize, Usage: "limit of any one file written, `SIZE` (default 4G)"},
			&cli.StringFlag{Name: flagStdoutMax, Usage: "limit of standard output, `SIZE` (default 8M)"},
			&cli.StringFlag{Name: flagStderrMax, Usage: "limit of standard error, `SIZE` (default 8M)"},
			&cli.IntFlag{Name: flagProcesses, Usage: "limit of processes alive at once, `N` (default 256)"},
			&cli.IntFlag{Name: flagOpenFiles, Usage: "limit of descriptors of each process, `N` (default 1024)"},
			&cli.StringFlag{Name: flagNetwork, Value: "deny", Usage: "`deny` or allow"},
			&cli.StringSliceFlag{Name: flagRequire, Usage: "refuse to run unless `PROPERTY` (network, writes, processes, memory, reads) is enforced; may be repeated"},
			&cli.StringSliceFlag{Name: flagRead, Usage: "limit reads to `PATH`, the scratch folder and the program; may be repeated"},
			&cli.StringSliceFlag{Name: flagWrite, Usage: "allow writes below `PATH` too; may be repeated"},
			&cli.StringSliceFlag{Name: flagNamespace, Usage: "give it a `NAMESPACE` of its own (user, network, pid, mount, ipc, uts), or refuse to run; may be repeated"},
			&cli.StringSliceFlag{Name: flagEnv, Usage: "admit the host's variable `NAME`; may be repeated"},
			&cli.StringSliceFlag{Name: flagSet, Usage: "set a variable, `NAME=VALUE`; may be repeated"},
			&cli.StringSliceFlag{Name: flagPath, Usage: "put `DIR` on the command's PATH, which is empty otherwise; may be repeated"},
			&cli.StringFlag{Name: flagStdin, Usage: "give `FILE`, or - for this command's own, read to its end first, on standard input; default nothing"},
			&cli.StringFlag{Name: flagExpect, Usage: "refuse to run another file than the one with this `DIGEST` (sha256:...)"},
			&cli.BoolFlag{Name: flagObserve, DisableDefaultText: true, Usage: "list the files that the command opens, executes and maps"},
			&cli.BoolFlag{Name: flagJSON, DisableDefaultText: true, Usage: "the same as --format json"},
		},
		Action: s.probe,
	}
}

// probeReport is what the probe command prints.
type probeReport struct {
	ProbeVersion string      `json:"probe_version"`
	Path         string      `json:"path"` // of the program, links resolved
	Argv         []string    `json:"argv"`
	Digest       string      `json:"digest"` // of the program's file, which is what was started
	Runs         []probeRun  `json:"runs"`
	Median       probeMedian `json:"median"`
}

// probeRun is one run: the engine's result with its streams as text where they
// are UTF-8.
type probeRun struct {
	*probe.Result
	Stdout       *string `json:"stdout"`
	Stderr       *string `json:"stderr"`
	StdoutBase64 *string `json:"stdout_base64,omitempty"` // when stdout is not UTF-8
	StderrBase64 *string `json:"stderr_base64,omitempty"`
}

func (s *session) probe(c *cli.Context) error {
	if err := s.checkFormat(c); err != nil {
		return err
	}
	if c.Bool(flagJSON) {
		s.format = formatJSON
	}
	if c.NArg() == 0 {
		return usage("probe takes a command after --")
	}
	runs := c.Int(flagRepeat)
	if runs < 1 || runs > 1000 {
		return usage("--%s %d is outside 1 to 1000", flagRepeat, runs)
	}
	spec, exe, err := s.probeSpec(c)
	if err != nil {
		return err
	}
	report := probeReport{ProbeVersion: "1", Path: exe.Path, Argv: c.Args().Slice(), Digest: exe.Digest.String()}
	for range runs {
		result, err := probe.Run(c.Context, spec)
		if err != nil {
			return probeFailure(err)
		}
		report.Runs = append(report.Runs, newProbeRun(result))
		if result.Outcome != probe.Exited || *result.ExitCode != 0 {
			s.status = exitFinding
		}
		if result.Outcome == probe.Cancelled && c.Context.Err() != nil {
			return c.Context.Err()
		}
	}
	report.Median = medianOf(report.Runs)
	return s.print(report, func(b *strings.Builder) { report.text(b) })
}

func newProbeRun(r *probe.Result) probeRun {
	run := probeRun{Result: r}
	run.Stdout, run.StdoutBase64 = textOrBase64(r.Stdout)
	run.Stderr, run.StderrBase64 = textOrBase64(r.Stderr)
	return run
}

func textOrBase64(data []byte) (text, encoded *string) {
	if utf8.Valid(data) {
		s := string(data)
		return &s, nil
	}
	s := base64.StdEncoding.EncodeToString(data)
	return nil, &s
}

// probeFailure tells a bad option from a host that can't do what was asked.
func probeFailure(err error) error {
	var pe *probe.Error
	if errors.As(err, &pe) {
		switch pe.Code {
		case probe.CodeBadPath, probe.CodeBadArgs, probe.CodeArgTooLong, probe.CodeBadEnv, probe.CodeEnvTooLong,
			probe.CodeBadSearchPath, probe.CodeBadLimit, probe.CodeBadIsolation:
			return &commandError{Code: pe.Code, Message: pe.Error(), exit: exitUsage, err: err}
		}
	}
	return err
}

func (s *session) probeSpec(c *cli.Context) (probe.Spec, digest.ExecutableResult, error) {
	var none probe.Spec
	name := c.Args().First()
	path, err := s.programPath(name)
	if err != nil {
		return none, digest.ExecutableResult{}, err
	}
	exe, err := digest.Executable(c.Context, path)
	if err != nil {
		return none, exe, err
	}
	want := c.String(flagExpect)
	if want != "" && godigest.Digest(want).Validate() != nil {
		return none, exe, usage("--%s %q is not sha256: and 64 lower-case hex digits", flagExpect, want)
	}
	if want != "" && want != exe.Digest.String() {
		return none, exe, &commandError{
			Code: codeIdentity, Message: fmt.Sprintf("%s is %s, expected %s; it was not run", exe.Path, exe.Digest, want),
			Path: exe.Path, exit: exitFinding,
		}
	}
	limits, err := probeLimits(c)
	if err != nil {
		return none, exe, err
	}
	stdin, err := s.probeStdin(c)
	if err != nil {
		return none, exe, err
	}
	network := probe.NetworkDeny
	switch c.String(flagNetwork) {
	case "deny":
	case "allow":
		network = probe.NetworkAllow
	default:
		return none, exe, usage("--%s %q is neither deny nor allow", flagNetwork, c.String(flagNetwork))
	}
	var require []probe.Property
	for _, p := range c.StringSlice(flagRequire) {
		require = append(require, probe.Property(p))
	}
	dirs, err := absoluteAll(c.StringSlice(flagPath))
	if err != nil {
		return none, exe, err
	}
	spec := probe.Spec{
		Path: path, Args: c.Args().Slice(), Stdin: stdin, Limits: limits, ObserveFiles: c.Bool(flagObserve),
		Env: probe.Environment{Admit: c.StringSlice(flagEnv), Lookup: s.lookup, Set: c.StringSlice(flagSet), Path: dirs},
		Expect: &probe.Expectation{
			Dev: exe.File.Dev, Ino: exe.File.Ino, Size: exe.File.Size, CtimeNS: exe.File.CtimeNS, Digest: exe.Digest.String(), Path: exe.Path,
		},
	}
	spec.Isolation = probe.IsolationRequest{Network: network, Require: require}
	for _, n := range c.StringSlice(flagNamespace) {
		spec.Isolation.Namespaces = append(spec.Isolation.Namespaces, probe.Namespace(n))
	}
	if spec.Isolation.Read, err = absoluteAll(c.StringSlice(flagRead)); err != nil {
		return none, exe, err
	}
	spec.Isolation.Write, err = absoluteAll(c.StringSlice(flagWrite))
	return spec, exe, err
}

// programPath makes a name or path absolute. Links are kept: a program may look
// at the name it was started by.
func (s *session) programPath(name string) (string, error) {
	if strings.Contains(name, "/") {
		return filepath.Abs(name)
	}
	search, _ := s.lookup("PATH")
	if path, ok := hostpath.Find(search, name); ok {
		return path, nil
	}
	return "", usage("no program %q on PATH", name)
}

func absoluteAll(paths []string) ([]string, error) {
	var out []string
	for _, p := range paths {
		if !strings.HasPrefix(p, "${") {
			abs, err := filepath.Abs(p)
			if err != nil {
				return nil, err
			}
			p = abs
		}
		out = append(out, p)
	}
	return out, nil
}

func (s *session) probeStdin(c *cli.Context) ([]byte, error) {
	if !c.IsSet(flagStdin) {
		return nil, nil
	}
	data, err := s.readInput(c.Context, c.String(flagStdin))
	if data == nil && err == nil {
		data = []byte{} // empty, and not /dev/null
	}
	return data, err
}

func probeLimits(c *cli.Context) (probe.Limits, error) {
	l := probe.Limits{
		Wall: c.Duration(flagTimeout), CPU: c.Duration(flagCPU), Processes: c.Int(flagProcesses), OpenFiles: c.Int(flagOpenFiles),
	}
	for _, size := range []struct {
		flag string
		to   *int64
	}{{flagMemory, &l.Memory}, {flagFileSize, &l.FileSize}, {flagStdoutMax, &l.Stdout}, {flagStderrMax, &l.Stderr}} {
		if !c.IsSet(size.flag) {
			continue
		}
		n, err := parseSize(c.String(size.flag))
		if err != nil {
			return l, usage("--%s: %v", size.flag, err)
		}
		*size.to = n
	}
	for _, name := range []string{flagTimeout, flagCPU, flagProcesses, flagOpenFiles} {
		// A zero is the library's default, and would be a surprise here.
		if c.IsSet(name) && (c.Duration(name) <= 0 && c.Int(name) <= 0) {
			return l, usage("--%s must be more than 0", name)
		}
	}
	return l, nil
}

// parseSize reads a number of bytes with an optional K, M, G or T of 1024.
func parseSize(text string) (int64, error) {
	digits, shift := text, 0
	if i := strings.IndexByte("KMGT", lastByte(text)); i >= 0 {
		digits, shift = text[:len(text)-1], 10*(i+1)
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n <= 0 || n > (1<<62)>>shift {
		return 0, fmt.Errorf("%q is not a size such as 4096, 64K, 512M or 2G", text)
	}
	return n << shift, nil
}

func lastByte(s string) byte {
	if s == "" {
		return 0
	}
	return s[len(s)-1]
}
