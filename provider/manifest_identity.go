package provider

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/provider-measure/provider-measure/digest"
	"github.com/provider-measure/provider-measure/internal/nearest"
)

func (p *manifestParser) identity() Identity {
	t := p.file.Identity
	id := Identity{
		Kind: digest.Kind(t.Kind), Executable: t.Executable, Entrypoint: t.Entrypoint, Root: t.Root,
		SearchPath: list(t.SearchPath), Exclude: list(t.Exclude), Distribution: t.Distribution, ImportName: t.ImportName,
		RequiredAttributes: list(t.RequiredAttributes), VerifyFiles: t.VerifyFiles, Components: list(t.Components),
		Pins: map[string]string{},
	}
	for _, platform := range slices.Sorted(maps.Keys(t.Digest)) {
		pin := t.Digest[platform]
		p.platform(platform)
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
		p.path("identity.executable", t.Executable)
	case digest.SourceTree:
		p.tree(t)
	case digest.PythonRecord:
		p.distribution(t)
	case digest.CompositeKind:
		p.components(t.Components)
		if v := p.file.Provider.Version; v != CompositeVersion {
			p.refuse(ReasonManifestInvalid, "provider.version", "is %q, and the version of every COMPOSITE is %q", v, CompositeVersion)
		}
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
	for _, key := range slices.Sorted(maps.Keys(set)) {
		if set[key] && !strings.Contains(read, " "+key+" ") {
			p.refuse(ReasonManifestInvalid, "identity."+key, "means nothing for kind %s", t.Kind)
		}
	}
}

// platform refuses a pin for a platform that no host has, which would never be
// held against anything.
func (p *manifestParser) platform(name string) {
	if matches(platformPattern, name) {
		return
	}
	p.refuse(ReasonManifestInvalid, "identity.digest."+name, "%q is not a platform such as linux-x86_64, linux-aarch64 or macosx-14.0-arm64", name)
	if p.err != nil && p.err.Nearest == "" && p.err.Key == "identity.digest."+name {
		p.err.Nearest = nearest.Of(name, []string{"linux-x86_64", "linux-aarch64", "macosx-14.0-arm64", "macosx-14.0-x86_64"})
	}
}

// path bounds a path of the identity.
func (p *manifestParser) path(key, s string) {
	if len(s) > maxPath {
		p.refuse(ReasonManifestRange, key, "has %d bytes, at most %d", len(s), maxPath)
	}
	if strings.ContainsRune(s, 0) {
		p.refuse(ReasonManifestInvalid, key, "holds a NUL character")
	}
	if strings.Contains(s, "${") {
		p.refuse(ReasonManifestInvalid, key, "%q: nothing is interpolated in [identity]; a relative path is one below the manifest's folder", s)
	}
}

// tree checks the two forms of SOURCE_TREE, each with keys of its own.
func (p *manifestParser) tree(t identityTable) {
	if (t.Entrypoint == "") == (t.Root == "") {
		p.refuse(ReasonManifestInvalid, "identity.entrypoint", "exactly one of entrypoint and root is needed")
	}
	if t.Entrypoint != "" && !matches(entrypointPattern, t.Entrypoint) {
		p.refuse(ReasonManifestInvalid, "identity.entrypoint", "%q is not module.sub:attribute", t.Entrypoint)
	}
	p.path("identity.root", t.Root)
	if len(t.SearchPath) > 64 {
		p.refuse(ReasonManifestRange, "identity.search_path", "has %d entries, at most 64", len(t.SearchPath))
	}
	for i, dir := range t.SearchPath {
		p.require(fmt.Sprintf("identity.search_path.%d", i), dir)
		p.path(fmt.Sprintf("identity.search_path.%d", i), dir)
	}
	p.invalid("identity.exclude", checkUnique("exclude", t.Exclude, 1024, checkRelativePath))
	switch {
	case t.Root != "" && len(t.SearchPath) > 0:
		p.refuse(ReasonManifestInvalid, "identity.search_path", "means nothing beside root")
	case t.Root != "" && t.Distribution != "":
		p.refuse(ReasonManifestInvalid, "identity.distribution", "means nothing beside root")
	case t.Entrypoint != "" && len(t.Exclude) > 0:
		p.refuse(ReasonManifestInvalid, "identity.exclude", "means nothing beside entrypoint, whose format has no exclusions")
	}
	if t.Distribution != "" {
		_, err := digest.NormalizeName(t.Distribution)
		p.invalid("identity.distribution", err)
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
