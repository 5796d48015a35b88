package provider

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/provider-measure/provider-measure/internal/stricttoml"
)

// ManifestSource says where a manifest's bytes come from.
type ManifestSource struct {
	File   string // what to call the file in messages
	Dir    string // absolute folder that ${manifest_dir} stands for; "" while not laid out
	FS     fs.FS  // that folder, for the schema files that the manifest names
	Origin Origin
}

const (
	manifestVersion = 1
	// maxTimeoutSecs bounds every time-out: a probe of an hour is not a probe.
	maxTimeoutSecs = 3600
	// maxArgv and maxArg bound a command; the kernel allows 128 KiB an argument.
	maxArgv = 256
	maxArg  = 32 << 10
	// maxPath is the kernel's limit.
	maxPath = 4096
	// maxStdin bounds a request written in a manifest.
	maxStdin = 256 << 10

	defaultProbeTimeout   = 30 * time.Second
	defaultInstallTimeout = 600 * time.Second
)

// ParseManifest reads one manifest strictly. Every failure is a
// [*ManifestError] with the line and column of what is wrong, or of the table
// that lacks a key.
//
// A COMPOSITE's version is [CompositeVersion] and nothing else. Its install_tier
// and license_id must be valid, but the ones recorded are those that its
// components come to; [Host.Identify] warns when they differ.
func ParseManifest(data []byte, source ManifestSource) (*Manifest, error) {
	var file manifestFile
	positions, err := stricttoml.Decode(data, &file)
	if err != nil {
		return nil, tomlError(source.File, err)
	}
	p := &manifestParser{source: source, positions: positions, file: &file}
	m := p.manifest()
	if p.err != nil {
		return nil, p.err
	}
	return m, nil
}

func tomlError(file string, err error) *ManifestError {
	e := &ManifestError{File: file, Reason: ReasonManifestInvalid, Err: err}
	var te *stricttoml.Error
	if errors.As(err, &te) {
		e.Line, e.Column, e.Key, e.Nearest, e.Reason, e.Err = te.Line, te.Column, te.Key, te.Nearest, te.Code, te.Err
	}
	return e
}

// manifestParser checks the decoded file. It keeps the first error only, so that
// checks read as a list.
type manifestParser struct {
	source    ManifestSource
	positions stricttoml.Positions
	file      *manifestFile
	err       *ManifestError

	schemaFiles []string
}

// refuse records that the value at key is wrong.
func (p *manifestParser) refuse(reason Reason, key, format string, args ...any) {
	if p.err != nil {
		return
	}
	at := p.positions.Of(key)
	p.err = &ManifestError{
		File: p.source.File, Line: at.Line, Column: at.Column, Key: key,
		Reason: reason, Err: fmt.Errorf(format, args...),
	}
}

// invalid records err, when there is one, against key.
func (p *manifestParser) invalid(key string, err error) {
	if err != nil {
		p.refuse(ReasonManifestInvalid, key, "%w", err)
	}
}

func (p *manifestParser) require(key, value string) bool {
	if value == "" {
		p.refuse(ReasonManifestMissing, key, "is required")
	}
	return value != ""
}

// requireText checks a text of 1 to most characters.
func (p *manifestParser) requireText(key, value string, most int) {
	if p.require(key, value) {
		p.invalid(key, checkLength("it", value, 1, most))
	}
}

func (p *manifestParser) manifest() *Manifest {
	f := p.file
	if _, ok := p.positions["manifest_version"]; !ok {
		p.refuse(ReasonManifestMissing, "manifest_version", "is required")
	}
	if f.ManifestVersion != manifestVersion {
		p.refuse(ReasonManifestVersion, "manifest_version", "is %d, this program reads %d", f.ManifestVersion, manifestVersion)
	}
	m := &Manifest{Dir: p.source.Dir, Source: p.source.File, Origin: p.source.Origin}
	p.provider(m)
	m.Identity = p.identity()
	m.Runtime = p.command("runtime", f.Runtime)
	m.Probes = p.probes(m)
	m.Install = p.install(m)
	m.Isolation = p.isolation()
	m.Requirements = p.requirements()
	m.Capabilities = p.capabilities()
	m.schemaFiles = p.schemaFiles
	p.across(m)
	return m
}

func (p *manifestParser) provider(m *Manifest) {
	t := p.file.Provider
	m.ID, m.Title, m.Version, m.LicenseID, m.Homepage = t.ID, t.Title, t.Version, t.LicenseID, t.Homepage
	m.InstallTier, m.Features = Tier(t.InstallTier), list(t.Features)
	if p.require("provider.id", t.ID) && !ValidProviderID(t.ID) {
		p.refuse(ReasonManifestInvalid, "provider.id", "%q does not match %s with 3 to 128 characters", t.ID, providerPattern)
	}
	p.requireText("provider.title", t.Title, 128)
	p.requireText("provider.version", t.Version, 128)
	if p.require("provider.install_tier", t.InstallTier) && !m.InstallTier.valid() {
		p.refuse(ReasonManifestInvalid, "provider.install_tier", "%q is not T0, T1, T2 or T3", t.InstallTier)
	}
	if p.require("provider.license_id", t.LicenseID) {
		p.invalid("provider.license_id", checkLicense(t.LicenseID))
	}
	p.invalid("provider.features", checkUnique("features", t.Features, 64, func(s string) error { return checkLength("feature", s, 1, 128) }))
	if t.Homepage != "" && !matches(`^https?://[!-~]{1,248}$`, t.Homepage) {
		p.refuse(ReasonManifestInvalid, "provider.homepage", "%q is not an http or https address of at most 256 characters", t.Homepage)
	}
}

// command checks what [runtime] and a probe share.
func (p *manifestParser) command(key string, t commandTable) Command {
	c := Command{
		Argv: list(t.Argv), Env: list(t.Env), Set: map[string]string{}, Path: list(t.Path),
		Timeout: p.timeout(key+".timeout_secs", t.TimeoutSecs, defaultProbeTimeout),
	}
	p.argv(key+".argv", c.Argv)
	p.envNames(key+".env", t.Env)
	if len(t.Set) > 64 {
		p.refuse(ReasonManifestRange, key+".set", "has %d variables, at most 64", len(t.Set))
	}
	for _, name := range slices.Sorted(maps.Keys(t.Set)) {
		value := t.Set[name]
		if !matches(envNamePattern, name) {
			p.refuse(ReasonManifestInvalid, key+".set."+name, "is not the name of an environment variable")
		}
		p.text(key+".set."+name, value, maxArg)
		c.Set[name] = value
	}
	p.folders(key+".path", t.Path)
	return c
}

func (p *manifestParser) envNames(key string, names []string) {
	p.invalid(key, checkUnique("env", names, 64, func(s string) error {
		if !matches(envNamePattern, s) {
			return fmt.Errorf("%q is not the name of an environment variable", s)
		}
		return nil
	}))
}

// folders checks a list of absolute folders, or of what becomes one.
func (p *manifestParser) folders(key string, dirs []string) {
	if len(dirs) > 64 {
		p.refuse(ReasonManifestRange, key, "has %d entries, at most 64", len(dirs))
	}
	for i, dir := range dirs {
		key := fmt.Sprintf("%s.%d", key, i)
		p.text(key, dir, maxPath)
		if !strings.HasPrefix(dir, "/") && !strings.HasPrefix(dir, "${") {
			p.refuse(ReasonManifestInvalid, key, "%q is not an absolute folder", dir)
		}
	}
}

func (p *manifestParser) argv(key string, argv []string) {
	if len(argv) > maxArgv {
		p.refuse(ReasonManifestRange, key, "has %d arguments, at most %d", len(argv), maxArgv)
	}
	for i, arg := range argv {
		p.text(fmt.Sprintf("%s.%d", key, i), arg, maxArg)
	}
	if len(argv) > 0 && !strings.HasPrefix(argv[0], "/") && !strings.HasPrefix(argv[0], "${") {
		p.refuse(ReasonManifestInvalid, key, "program %q is not an absolute path or an interpolation; there is no PATH search and no shell", argv[0])
	}
}

// text checks a string that goes to a process: bounded, without NUL, and with
// no interpolation but the four.
func (p *manifestParser) text(key, s string, most int) {
	if len(s) > most {
		p.refuse(ReasonManifestRange, key, "has %d bytes, at most %d", len(s), most)
	}
	if strings.ContainsRune(s, 0) {
		p.refuse(ReasonManifestInvalid, key, "holds a NUL character")
	}
	p.invalid(key, checkInterpolations(s))
}

func (p *manifestParser) timeout(key string, secs *int64, otherwise time.Duration) time.Duration {
	if secs == nil {
		return otherwise
	}
	if *secs < 1 || *secs > maxTimeoutSecs {
		p.refuse(ReasonManifestRange, key, "is %d, allowed are 1 to %d seconds", *secs, maxTimeoutSecs)
	}
	return time.Duration(*secs) * time.Second
}
