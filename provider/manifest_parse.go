package provider

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/provider-measure/provider-measure/digest"
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
	// maxStdin bounds a request written in a manifest.
	maxStdin = 256 << 10

	defaultProbeTimeout   = 30 * time.Second
	defaultInstallTimeout = 600 * time.Second
)

// ParseManifest reads one manifest strictly. Every failure is a
// [*ManifestError] with the line and column of what is wrong.
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
	err       error
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

func (p *manifestParser) manifest() *Manifest {
	f := p.file
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
	p.invalid("provider.title", checkLength("title", t.Title, 1, 128))
	p.invalid("provider.version", checkLength("version", t.Version, 1, 128))
	if p.require("provider.install_tier", t.InstallTier) && !m.InstallTier.valid() {
		p.refuse(ReasonManifestInvalid, "provider.install_tier", "%q is not T0, T1, T2 or T3", t.InstallTier)
	}
	if p.require("provider.license_id", t.LicenseID) {
		p.invalid("provider.license_id", checkLicense(t.LicenseID))
	}
	p.invalid("provider.features", checkUnique("features", t.Features, 64, func(s string) error { return checkLength("feature", s, 1, 128) }))
	p.invalid("provider.homepage", checkLength("homepage", t.Homepage, 0, 256))
}

// command checks what [runtime] and a probe share.
func (p *manifestParser) command(key string, t commandTable) Command {
	c := Command{
		Argv: list(t.Argv), Env: list(t.Env), Set: map[string]string{}, Path: list(t.Path),
		Timeout: p.timeout(key+".timeout_secs", t.TimeoutSecs, defaultProbeTimeout),
	}
	p.argv(key+".argv", c.Argv)
	p.invalid(key+".env", checkUnique("env", t.Env, 64, func(s string) error {
		if !matches(envNamePattern, s) {
			return fmt.Errorf("%q is not the name of an environment variable", s)
		}
		return nil
	}))
	for name, value := range t.Set {
		if !matches(envNamePattern, name) {
			p.refuse(ReasonManifestInvalid, key+".set."+name, "is not the name of an environment variable")
		}
		p.text(key+".set."+name, value, maxArg)
		c.Set[name] = value
	}
	for _, dir := range t.Path {
		p.text(key+".path", dir, 4096)
		if !strings.HasPrefix(dir, "/") && !strings.HasPrefix(dir, "${") {
			p.refuse(ReasonManifestInvalid, key+".path", "%q is not an absolute folder", dir)
		}
	}
	return c
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

func (p *manifestParser) identity() Identity {
	t := p.file.Identity
	id := Identity{
		Kind: digest.Kind(t.Kind), Executable: t.Executable, Entrypoint: t.Entrypoint, Root: t.Root,
		SearchPath: list(t.SearchPath), Exclude: list(t.Exclude), Distribution: t.Distribution, ImportName: t.ImportName,
		RequiredAttributes: list(t.RequiredAttributes), VerifyFiles: t.VerifyFiles, Components: list(t.Components),
		Pins: map[string]string{},
	}
	for platform, pin := range t.Digest {
		if !matches(digestPattern, pin) {
			p.refuse(ReasonManifestInvalid, "identity.digest."+platform, "%q is not sha256: and 64 lower-case hex digits%s", pin, caseHint(pin))
		}
		id.Pins[platform] = pin
	}
	p.identityKeys(t)
	switch id.Kind {
	case digest.ExecutableKind:
		if p.require("identity.executable", t.Executable) && strings.Contains(t.Executable, "/") && !strings.HasPrefix(t.Executable, "/") {
			p.refuse(ReasonManifestInvalid, "identity.executable", "%q is neither a plain name nor an absolute path", t.Executable)
		}
	case digest.SourceTree:
		if (t.Entrypoint == "") == (t.Root == "") {
			p.refuse(ReasonManifestInvalid, "identity.entrypoint", "exactly one of entrypoint and root is needed")
		}
	case digest.PythonRecord:
		p.distribution(t)
	case digest.CompositeKind:
		p.components(t.Components)
	default:
		if p.require("identity.kind", t.Kind) {
			p.refuse(ReasonManifestInvalid, "identity.kind", "%q is none of SOURCE_TREE, PYTHON_DISTRIBUTION_RECORD, EXECUTABLE, COMPOSITE", t.Kind)
		}
	}
	return id
}

func caseHint(pin string) string {
	if matches(digestPattern, "sha256:"+strings.TrimPrefix(strings.ToLower(pin), "sha256:")) {
		return "; only its case or prefix differs"
	}
	return ""
}

// identityKeys refuses a key that the kind does not read: whoever wrote it
// believes that it does something.
func (p *manifestParser) identityKeys(t identityTable) {
	set := map[string]bool{
		"executable": t.Executable != "", "entrypoint": t.Entrypoint != "", "root": t.Root != "",
		"search_path": len(t.SearchPath) > 0, "exclude": len(t.Exclude) > 0, "distribution": t.Distribution != "",
		"import_name": t.ImportName != "", "required_attributes": len(t.RequiredAttributes) > 0,
		"verify_files": t.VerifyFiles, "components": len(t.Components) > 0,
	}
	read := map[digest.Kind]string{
		digest.ExecutableKind: " executable ",
		digest.SourceTree:     " entrypoint root search_path exclude distribution ",
		digest.PythonRecord:   " distribution import_name required_attributes verify_files ",
		digest.CompositeKind:  " components ",
	}[digest.Kind(t.Kind)]
	if read == "" {
		return
	}
	for key, present := range set {
		if present && !strings.Contains(read, " "+key+" ") {
			p.refuse(ReasonManifestInvalid, "identity."+key, "means nothing for kind %s", t.Kind)
		}
	}
}

func (p *manifestParser) distribution(t identityTable) {
	if p.require("identity.distribution", t.Distribution) {
		_, err := digest.NormalizeName(t.Distribution)
		p.invalid("identity.distribution", err)
	}
	if p.require("identity.import_name", t.ImportName) && (!matches(dottedPattern, t.ImportName) || !lengthWithin(t.ImportName, 1, 256)) {
		p.refuse(ReasonManifestInvalid, "identity.import_name", "%q is not a dotted identifier of at most 256 characters", t.ImportName)
	}
	p.invalid("identity.required_attributes", checkUnique("required_attributes", t.RequiredAttributes, 64, func(s string) error {
		if !matches(identifierPattern, s) {
			return fmt.Errorf("%q is not an identifier", s)
		}
		return nil
	}))
}

func (p *manifestParser) components(ids []string) {
	if len(ids) == 0 {
		p.refuse(ReasonManifestMissing, "identity.components", "at least one is needed")
	}
	p.invalid("identity.components", checkUnique("components", ids, 64, func(s string) error {
		if !ValidProviderID(s) {
			return fmt.Errorf("%q is not a provider ID", s)
		}
		return nil
	}))
}
