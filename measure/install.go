package measure

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/provider-measure/provider-measure/probe"
	"github.com/provider-measure/provider-measure/provider"
)

// Limits of a cold install, beside its time-out. They are generous, because
// what a package needs is not known before it is there, and finite, because an
// index may serve anything.
const (
	installMemory    = 8 << 30
	installFileSize  = 8 << 30
	installProcesses = 1024
	// versionTimeout bounds asking an installer for its version.
	versionTimeout = time.Minute
)

// targetDir is the folder of the scratch directory that is filled and measured.
const targetDir = "target"

// installer is one program that can do the manifest's install.
type installer struct {
	name    string              // how the record calls it
	ask     []string            // prints its version
	version func([]byte) string // reads the answer of ask; nil: it has no version to ask for
	argv    []string
	set     map[string]string
	path    []string
	admit   []string // names of the host's environment, see admittedNames
	target  string   // measured folder below scratch; "" is scratch itself
	// check says what is wrong with what was installed, "" when nothing is.
	check func(ctx context.Context, target string) string
}

// coldInstall installs the provider's exact version into an empty folder with an
// empty cache and home, all in the scratch directory of one probe, which removes
// it however the run ends. It is the one run that may use the network. The error
// is the context's own.
func (m *measurement) coldInstall(ctx context.Context) (ColdInstall, error) {
	if !m.options.ColdInstall {
		return ColdInstall{Status: Skipped, Detail: detail(CodeNotAskedFor, "not asked for")}, nil
	}
	in := m.manifest.Install
	if in == nil {
		return ColdInstall{Status: Skipped, Detail: detail(CodeNotDeclared, "the manifest has no [install]: no safe installer is known for this provider")}, nil
	}
	m.progress(StageColdInstall, 0, 1, string(in.Method))
	chosen, name, why := m.chooseInstaller(ctx, in)
	if err := ctx.Err(); err != nil {
		return ColdInstall{}, err
	}
	if chosen == nil {
		return ColdInstall{Status: Skipped, Detail: detail(CodeInstallerMissing, why)}, nil
	}
	m.progress(StageColdInstall, 0, 1, name)
	out, err := m.install(ctx, in, chosen)
	if err != nil {
		return ColdInstall{}, err
	}
	out.Installer = &name
	m.progress(StageColdInstall, 1, 1, name)
	return out, nil
}

// chooseInstaller takes the first that answers with its version.
func (m *measurement) chooseInstaller(ctx context.Context, in *provider.Install) (*installer, string, string) {
	candidates, missing := m.installers(ctx, in)
	for _, c := range candidates {
		if c.version == nil {
			return &c, c.name, ""
		}
		version, err := m.askVersion(ctx, c)
		if err == nil {
			return &c, c.name + " " + version, ""
		}
		missing = append(missing, fmt.Sprintf("%s does not answer: %v", c.name, err))
	}
	return nil, "", strings.Join(missing, "; ")
}

// installers lists the programs of a method that this host has, and what it
// lacks.
func (m *measurement) installers(ctx context.Context, in *provider.Install) (found []installer, missing []string) {
	switch in.Method {
	case provider.InstallPython:
		return m.pythonInstallers(ctx, in)
	case provider.InstallNPM:
		return m.npmInstaller(ctx, in)
	case provider.InstallGo:
		return m.goInstaller(ctx, in)
	case provider.InstallCommand:
		return m.commandInstaller(ctx, in)
	}
	return nil, []string{fmt.Sprintf("no installer is known for method %q", in.Method)}
}

// commandInstaller is the manifest's own command, called by its program's name:
// it has no version that could be asked for.
func (m *measurement) commandInstaller(ctx context.Context, in *provider.Install) ([]installer, []string) {
	c := installer{argv: in.Argv, admit: in.Env}
	spec, err := m.spec(ctx, &c, in.Argv, in.Timeout)
	if err != nil {
		return nil, []string{messageOf(err)}
	}
	c.name = clean("command " + filepath.Base(spec.Path))
	return []installer{c}, nil
}

// spec makes a run of an installer's program.
func (m *measurement) spec(ctx context.Context, c *installer, argv []string, timeout time.Duration) (probe.Spec, error) {
	return m.host.Spec(ctx, m.manifest, m.id.Measured, provider.Command{
		Argv: argv, Timeout: timeout, Env: c.admit, Set: c.set, Path: c.path,
	})
}

func (m *measurement) askVersion(ctx context.Context, c installer) (string, error) {
	spec, err := m.spec(ctx, &c, c.ask, versionTimeout)
	if err != nil {
		return "", err
	}
	spec.Isolation = probe.IsolationRequest{}
	result, err := m.options.Run(ctx, spec)
	if err != nil {
		return "", err
	}
	if result.Outcome != probe.Exited || *result.ExitCode != 0 {
		return "", errors.New(ended(result))
	}
	version := clean(c.version(result.Stdout))
	if version == "" || len(version) > 64 || strings.ContainsAny(version, " \t") {
		return "", fmt.Errorf("%q tells no version", clean(string(result.Stdout[:min(len(result.Stdout), 80)])))
	}
	return version, nil
}

// install runs the chosen installer once.
func (m *measurement) install(ctx context.Context, in *provider.Install, c *installer) (ColdInstall, error) {
	spec, err := m.spec(ctx, c, c.argv, in.Timeout)
	if err != nil {
		return ColdInstall{Status: Failed, Detail: detail(reasonOf(err, CodeInstallFailed), messageOf(err))}, nil
	}
	spec.Isolation = installIsolation(m.manifest.Isolation)
	spec.Limits = probe.Limits{
		// Installers work on all cores at once.
		Wall: in.Timeout, CPU: 64 * in.Timeout,
		Memory: installMemory, FileSize: installFileSize, Processes: installProcesses,
	}
	var found inspected
	var scratch string
	spec.Inspect = func(dir string, r *probe.Result) error {
		scratch = dir
		if r.Outcome == probe.Exited && *r.ExitCode == 0 {
			found = inspect(ctx, c, filepath.Join(dir, c.target))
		}
		return nil
	}
	result, err := m.options.Run(ctx, spec)
	if cause := ctx.Err(); cause != nil {
		return ColdInstall{}, errors.Join(cause, err)
	}
	if err != nil {
		return ColdInstall{Status: Failed, Detail: detail(reasonOf(err, CodeInstallFailed), err.Error())}, nil
	}
	out := ColdInstall{Status: Failed}
	code, text := judgeInstall(in.Method, result, found, scratch)
	withheld := ""
	if len(result.Withheld) > 0 {
		withheld = "withheld from the installer's environment: " + strings.Join(result.Withheld, ", ")
	}
	if code != "" {
		if withheld != "" {
			// First, so that a long message can't cut it off.
			text = withheld + "; " + text
		}
		out.Detail = detail(code, text)
		return out, nil
	}
	out.Status, out.Seconds, out.InstalledBytes = Completed, seconds(result.Wall), found.bytes
	if withheld != "" {
		out.Detail = joined([]string{withheld})
	}
	return out, nil
}

// installIsolation allows the network for this one run and nothing else beyond
// the scratch directory.
func installIsolation(iso provider.Isolation) probe.IsolationRequest {
	request := probe.IsolationRequest{Network: probe.NetworkAllow}
	for _, name := range iso.Require {
		if p := probe.Property(name); p != probe.PropertyNetwork {
			request.Require = append(request.Require, p)
		}
	}
	return request
}

// judgeInstall says why an install failed, or nothing.
func judgeInstall(method provider.InstallMethod, r *probe.Result, found inspected, scratch string) (Code, string) {
	switch r.Outcome {
	case probe.Exited:
		if *r.ExitCode != 0 {
			return classify(method, *r.ExitCode, withoutScratch(r.Stdout, scratch), withoutScratch(r.Stderr, scratch))
		}
	case probe.Signaled, probe.StartFailed, probe.IdentityChanged, probe.Unknown, probe.Cancelled:
		return CodeInstallFailed, ended(r)
	case probe.TimedOut, probe.OutputLimitExceeded, probe.CPULimitExceeded, probe.MemoryLimitExceeded, probe.ProcessLimitExceeded:
		text := ended(r)
		if said := network(method, string(r.Stdout)+"\n"+string(r.Stderr)); r.Outcome == probe.TimedOut && said != "" {
			text += "; the network may be the cause: " + said
		}
		return CodeInstallStopped, text
	}
	if found.wrong != "" {
		return CodeInstallMismatch, strings.ReplaceAll(found.wrong, scratch, "${scratch}")
	}
	if found.bytes == nil {
		return CodeNotMeasured, strings.ReplaceAll(found.unknown, scratch, "${scratch}")
	}
	return "", ""
}

// ended says how a run ended, without its output.
func ended(r *probe.Result) string {
	switch {
	case r.Outcome == probe.Exited && r.ExitCode != nil:
		return fmt.Sprintf("exit code %d", *r.ExitCode)
	case r.Outcome == probe.Signaled:
		return "ended by " + r.Signal
	case r.Outcome == probe.StartFailed && r.StartError != nil:
		return "could not be started: " + r.StartError.Error()
	}
	return r.Outcome.String()
}

func withoutScratch(output []byte, scratch string) string {
	if scratch == "" {
		return string(output)
	}
	return strings.ReplaceAll(string(output), scratch, "${scratch}")
}

// admittedNames are the variables of the host that an installer is given when
// they are set: where its index is, how to get there, and whom to trust. Names
// that look like credentials are withheld by package probe whatever this list
// or the manifest says.
func admittedNames(method provider.InstallMethod, more []string) []string {
	names := []string{
		"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
		"SSL_CERT_FILE", "SSL_CERT_DIR",
	}
	switch method {
	case provider.InstallPython:
		names = append(names, "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_CERT", "PIP_TRUSTED_HOST", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
			"UV_DEFAULT_INDEX", "UV_INDEX", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL", "UV_NATIVE_TLS", "UV_SYSTEM_CERTS")
	case provider.InstallNPM:
		names = append(names, "npm_config_registry", "NPM_CONFIG_REGISTRY", "npm_config_cafile", "NPM_CONFIG_CAFILE", "NODE_EXTRA_CA_CERTS")
	case provider.InstallGo:
		names = append(names, "GOPROXY", "GONOPROXY", "GOPRIVATE", "GOSUMDB", "GONOSUMDB", "GOINSECURE")
	case provider.InstallCommand:
		return slices.Clone(more)
	}
	for _, name := range more {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
