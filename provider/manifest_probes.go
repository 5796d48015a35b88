package provider

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/provider-measure/provider-measure/digest"
	"github.com/provider-measure/provider-measure/internal/canonjson"
	"github.com/provider-measure/provider-measure/judge"
)

func (p *manifestParser) probes(m *Manifest) Probes {
	t := p.file.Probes
	return Probes{
		Health:       p.probe("probes.health", t.Health, m),
		Readiness:    p.probe("probes.readiness", t.Readiness, m),
		ColdStart:    p.probe("probes.cold_start", t.ColdStart, m),
		Reproduction: p.probe("probes.reproduction", t.Reproduction, m),
	}
}

// probe reads one probe; what it leaves out it takes from [runtime].
func (p *manifestParser) probe(key string, t *probeTable, m *Manifest) *Probe {
	if t == nil {
		return nil
	}
	c := p.command(key, commandTable{Argv: t.Argv, TimeoutSecs: t.TimeoutSecs, Env: t.Env, Set: t.Set, Path: t.Path})
	p.stdin(key+".stdin", t.Stdin)
	c.Stdin = t.Stdin
	if len(c.Argv) == 0 {
		c.Argv = list(m.Runtime.Argv)
	}
	if len(c.Argv) == 0 {
		p.refuse(ReasonManifestMissing, key+".argv", "is required, since [runtime] has no argv")
	}
	if t.TimeoutSecs == nil {
		c.Timeout = m.Runtime.Timeout
	}
	if t.Env == nil {
		c.Env = list(m.Runtime.Env)
	}
	if t.Set == nil {
		c.Set = m.Runtime.Set
	}
	if t.Path == nil {
		c.Path = list(m.Runtime.Path)
	}
	return &Probe{Command: c, Expect: p.expect(key+".expect", t.Expect)}
}

// stdin is given as it is written. What looks like an interpolation is refused,
// since whoever wrote it expects one.
func (p *manifestParser) stdin(key, s string) {
	if len(s) > maxStdin {
		p.refuse(ReasonManifestRange, key, "has %d bytes, at most %d", len(s), maxStdin)
	}
	for _, name := range []string{varPython, varManifestDir, varExecutable, varScratch} {
		if strings.Contains(s, name) {
			p.refuse(ReasonManifestInvalid, key, "holds %s, and nothing is interpolated in standard input", name)
		}
	}
}

func (p *manifestParser) expect(key string, t *expectTable) Expect {
	var e Expect
	if t == nil {
		return e
	}
	if t.Exit != nil {
		if *t.Exit < 0 || *t.Exit > 255 {
			p.refuse(ReasonManifestRange, key+".exit", "is %d, allowed are 0 to 255", *t.Exit)
		}
		e.Exit = int(*t.Exit)
	}
	e.Stdout = p.stream(key+".stdout", t.Stdout)
	e.Stderr = p.stream(key+".stderr", t.Stderr)
	return e
}

func (p *manifestParser) stream(key string, t *streamTable) StreamExpect {
	var s StreamExpect
	if t == nil {
		return s
	}
	s.Equals, s.Contains = copyOf(t.Equals), copyOf(t.Contains)
	if t.Contains != nil && *t.Contains == "" {
		p.refuse(ReasonManifestInvalid, key+".contains", "is empty, which every output contains")
	}
	if t.Matches != nil {
		re, err := regexp.Compile(*t.Matches)
		if err != nil {
			p.refuse(ReasonManifestInvalid, key+".matches", "%w", err)
		} else if re.MatchString("") {
			p.refuse(ReasonManifestInvalid, key+".matches", "matches nothing at all, so it can not fail")
		}
		s.Matches = re
	}
	if t.JSON != nil {
		canonical, err := canonjson.Marshal(tomlValue(t.JSON))
		p.invalid(key+".json", err)
		s.JSON = canonical
	}
	return s
}

// notJSON makes a TOML value that JSON lacks fail to marshal, instead of turning
// into text.
type notJSON struct{ value any }

func (n notJSON) MarshalJSON() ([]byte, error) {
	return nil, fmt.Errorf("%T has no form in JSON", n.value)
}

// tomlValue prepares a decoded TOML value for JSON: dates and times are refused.
func tomlValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[key] = tomlValue(value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, value := range v {
			out[i] = tomlValue(value)
		}
		return out
	case string, bool, int64, float64:
		return v
	}
	return notJSON{v}
}

func (p *manifestParser) install(m *Manifest) *Install {
	t := p.file.Install
	if t == nil {
		return nil
	}
	in := &Install{
		Method: InstallMethod(t.Method), Package: t.Package, Version: t.Version, Argv: list(t.Argv), Env: list(t.Env),
		Timeout: p.timeout("install.timeout_secs", t.TimeoutSecs, defaultInstallTimeout),
	}
	if in.Version == "" {
		in.Version = m.Version
	}
	p.argv("install.argv", in.Argv)
	p.envNames("install.env", t.Env)
	pattern := map[InstallMethod]string{
		InstallPython:  `^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`,
		InstallNPM:     `^(@[a-z0-9][a-z0-9._-]*/)?[a-z0-9][a-z0-9._-]*$`,
		InstallGo:      `^[a-z0-9][a-z0-9.-]*\.[a-z]+(/[A-Za-z0-9._~-]+)+$`,
		InstallCommand: ``,
	}
	want, known := pattern[in.Method]
	switch {
	case !known:
		p.refuse(ReasonManifestInvalid, "install.method", "%q is none of python, npm, go, command", t.Method)
	case in.Method == InstallCommand && len(in.Argv) == 0:
		p.refuse(ReasonManifestMissing, "install.argv", "is required for method command")
	case in.Method == InstallCommand && !strings.Contains(strings.Join(in.Argv, "\x00"), varScratch):
		p.refuse(ReasonManifestInvalid, "install.argv", "does not name %s, the only folder that it may fill", varScratch)
	case in.Method != InstallCommand && len(in.Argv) > 0:
		p.refuse(ReasonManifestInvalid, "install.argv", "means nothing for method %s", in.Method)
	case in.Method != InstallCommand && p.require("install.package", in.Package) && !matches(want, in.Package):
		p.refuse(ReasonManifestInvalid, "install.package", "%q is not a package's name for method %s", in.Package, in.Method)
	}
	// The version goes into an installer's argument beside the name, so it must
	// not read as an option, a URL or a second requirement.
	if in.Method != InstallCommand && !matches(`^[A-Za-z0-9][A-Za-z0-9.+!_-]*$`, in.Version) {
		p.refuse(ReasonManifestInvalid, "install.version", "%q is not one exact version", in.Version)
	}
	return in
}

func (p *manifestParser) isolation() Isolation {
	t := p.file.Isolation
	iso := Isolation{Require: list(t.Require), Read: list(t.Read), Write: list(t.Write)}
	switch t.Network {
	case "", "deny":
	case "allow":
		iso.AllowNetwork = true
	default:
		p.refuse(ReasonManifestInvalid, "isolation.network", "%q is neither deny nor allow", t.Network)
	}
	p.invalid("isolation.require", checkUnique("require", t.Require, 16, func(s string) error {
		switch s {
		case "network", "writes", "processes", "memory":
			return nil
		}
		return fmt.Errorf("%q is none of network, writes, processes, memory", s)
	}))
	if iso.AllowNetwork && slices.Contains(t.Require, "network") {
		p.refuse(ReasonManifestInvalid, "isolation.require", "requires that network is denied, and network is allowed")
	}
	p.folders("isolation.read", t.Read)
	p.folders("isolation.write", t.Write)
	return iso
}

func (p *manifestParser) requirements() []Requirement {
	if n := len(p.file.Requirements); n > 64 {
		p.refuse(ReasonManifestRange, "requirements", "has %d entries, at most 64", n)
	}
	var out []Requirement
	seen := map[string]bool{}
	for i, r := range p.file.Requirements {
		key := fmt.Sprintf("requirements.%d", i)
		if p.require(key+".name", r.Name) && (!matches(namePattern, r.Name) || len(r.Name) > 64) {
			p.refuse(ReasonManifestInvalid, key+".name", "%q does not match %s with at most 64 characters", r.Name, namePattern)
		}
		if seen[r.Name] {
			p.refuse(ReasonManifestDuplicate, key+".name", "%q is declared twice", r.Name)
		}
		seen[r.Name] = true
		p.requireText(key+".says", r.Says, 256)
		if !p.require(key+".check", r.Check) {
			continue
		}
		check, err := judge.ParseCheck(r.Check)
		p.invalid(key+".check", err)
		if err == nil && !KnownMeasurement(check.Measurement) {
			p.refuse(ReasonManifestInvalid, key+".check", "%q is not a measurement that a record reports; there are %s", check.Measurement, strings.Join(Measurements(), ", "))
		}
		out = append(out, Requirement(r))
	}
	return out
}

// Measurements are the names that a requirement's check may use: whole numbers
// that a measurement record reports. Times are medians in milliseconds, rounded
// up; sizes and peaks are bytes.
func Measurements() []string {
	return []string{
		"cold-start-ms", "cold-start-peak-rss-bytes", "reproduction-ms", "reproduction-peak-rss-bytes",
		"installed-bytes", "installed-files", "cold-install-ms", "cold-install-bytes",
	}
}

// KnownMeasurement reports whether name is one of [Measurements].
func KnownMeasurement(name string) bool { return slices.Contains(Measurements(), name) }

// across checks what hangs on more than one table.
func (p *manifestParser) across(m *Manifest) {
	health := m.Probes.Health
	tellsVersion := health != nil && health.Expect.namesVersion()
	if m.Identity.Kind == digest.ExecutableKind {
		if !tellsVersion {
			p.refuse(ReasonManifestMissing, "probes.health",
				"an EXECUTABLE's version is measured, so its health probe must expect stdout or stderr to match a pattern with a group (?P<version>…)")
		}
		return
	}
	if m.Identity.Kind == digest.CompositeKind {
		if tellsVersion {
			p.refuse(ReasonManifestInvalid, "probes.health.expect", "tells a version, and that of a COMPOSITE is always %s", CompositeVersion)
		}
		return
	}
	for _, c := range []struct {
		key   string
		names bool
	}{
		{"runtime", m.Runtime.names(varExecutable)},
		{"probes.health", m.Probes.Health.names(varExecutable)},
		{"probes.readiness", m.Probes.Readiness.names(varExecutable)},
		{"probes.cold_start", m.Probes.ColdStart.names(varExecutable)},
		{"probes.reproduction", m.Probes.Reproduction.names(varExecutable)},
		{"isolation", m.Isolation.names(varExecutable)},
	} {
		if c.names {
			p.refuse(ReasonManifestInvalid, c.key, "names %s, which a %s does not have", varExecutable, m.Identity.Kind)
		}
	}
}

// names is false for the probe that is not there.
func (p *Probe) names(name string) bool { return p != nil && p.Command.names(name) }
