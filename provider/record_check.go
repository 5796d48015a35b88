package provider

import (
	"cmp"
	"errors"
	"fmt"
	"path"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/provider-measure/provider-measure/digest"
)

// recordKeys are the 16 keys of the contract.
func recordKeys() []string {
	return []string{
		"runtime_version", "provider", "availability", "version", "digest", "digest_kind", "platform", "install_tier",
		"license_id", "license_files", "features", "checker_ids", "configuration", "distribution_import_name",
		"distribution_required_attributes", "diagnostic",
	}
}

func nullable(key string) bool {
	switch key {
	case "version", "digest", "digest_kind", "distribution_import_name", "diagnostic":
		return true
	}
	return false
}

// check applies the rules of the contract but for configuration.
func (r *Record) check() error {
	return cmp.Or(r.checkScalars(), r.checkLists(), r.checkState())
}

func (r *Record) checkScalars() error {
	if r.RuntimeVersion != RuntimeVersion {
		return fmt.Errorf("runtime_version %q, want %q", r.RuntimeVersion, RuntimeVersion)
	}
	if !ValidProviderID(r.Provider) {
		return fmt.Errorf("provider %q does not match %s with 3 to 128 characters", r.Provider, providerPattern)
	}
	if r.Availability != Available && r.Availability != Unavailable {
		return fmt.Errorf("availability %q", r.Availability)
	}
	if !r.InstallTier.valid() {
		return fmt.Errorf("install_tier %q", r.InstallTier)
	}
	if r.Version != nil {
		if err := checkLength("version", *r.Version, 1, 128); err != nil {
			return err
		}
	}
	if r.Digest != nil && !matches(digestPattern, r.Digest.String()) {
		return fmt.Errorf("digest %q is not sha256: and 64 lower-case hex digits", *r.Digest)
	}
	if r.DigestKind != nil && !r.DigestKind.Valid() {
		return fmt.Errorf("digest_kind %q", *r.DigestKind)
	}
	if r.ImportName != nil && (!lengthWithin(*r.ImportName, 1, 256) || !matches(dottedPattern, *r.ImportName)) {
		return fmt.Errorf("distribution_import_name %q is not a dotted identifier", *r.ImportName)
	}
	if r.Diagnostic != nil {
		if err := checkLength("diagnostic", *r.Diagnostic, 1, maxDiagnostic); err != nil {
			return err
		}
	}
	return cmp.Or(checkLength("platform", r.Platform, 1, 128), checkLicense(r.LicenseID))
}

func (r *Record) checkLists() error {
	return cmp.Or(
		checkUnique("license_files", r.LicenseFiles, 0, checkRelativePath),
		checkUnique("features", r.Features, 0, func(s string) error { return checkLength("feature", s, 1, 128) }),
		checkUnique("checker_ids", r.CheckerIDs, 0, func(s string) error {
			if !matches(checkerPattern, s) {
				return fmt.Errorf("%q is not a checker ID", s)
			}
			return nil
		}),
		checkUnique("distribution_required_attributes", r.RequiredAttribs, 64, func(s string) error {
			if !matches(identifierPattern, s) {
				return fmt.Errorf("%q is not an identifier", s)
			}
			return nil
		}),
	)
}

func (r *Record) checkState() error {
	switch r.Availability {
	case Available:
		if r.Version == nil || r.Digest == nil || r.DigestKind == nil || r.Diagnostic != nil {
			return errors.New("AVAILABLE needs version, digest and digest_kind, and no diagnostic")
		}
	case Unavailable:
		if r.Version != nil || r.Digest != nil || r.DigestKind != nil || r.Diagnostic == nil {
			return errors.New("UNAVAILABLE needs a diagnostic, and no version, digest or digest_kind")
		}
	}
	if (r.ImportName != nil || len(r.RequiredAttribs) > 0) && (r.DigestKind == nil || *r.DigestKind != digest.PythonRecord) {
		return errors.New("the distribution_ fields need digest_kind PYTHON_DISTRIBUTION_RECORD")
	}
	return nil
}

// configuration is what this package reads back from the free-form object.
type configuration struct {
	Executable   string           `json:"executable"`
	Entrypoint   string           `json:"entrypoint"`
	Root         string           `json:"root"`
	TreeFormat   digest.Format    `json:"tree_format"`
	Exclude      []string         `json:"exclude"`
	SearchPath   []string         `json:"search_path"`
	Distribution string           `json:"distribution"`
	Components   []jsontext.Value `json:"components"`
}

// checkConfiguration refuses an AVAILABLE record that could not be measured
// again, here rather than when someone tries.
func (r *Record) checkConfiguration() error {
	if r.Configuration.Kind() != '{' {
		return malformed(r.Provider, errors.New("configuration is not an object"))
	}
	if r.Availability != Available {
		return nil
	}
	var c configuration
	if err := json.Unmarshal(r.Configuration, &c); err != nil {
		return malformed(r.Provider, fmt.Errorf("configuration: %w", err))
	}
	missing, err := "", error(nil)
	switch *r.DigestKind {
	case digest.ExecutableKind:
		if !cleanAbsolute(c.Executable) {
			missing = "executable (an absolute, resolved path)"
		}
	case digest.SourceTree:
		missing, err = c.checkTree()
	case digest.PythonRecord:
		if missing = "distribution"; c.Distribution != "" {
			missing = ""
			_, err = digest.NormalizeName(c.Distribution)
		}
	case digest.CompositeKind:
		if missing = "components (at least one)"; len(c.Components) > 0 {
			missing = ""
			err = r.checkComponents(c.Components)
		}
	}
	if missing != "" {
		return &Error{
			Code: CodeIdentityIncomplete, Reason: ReasonRecordIncomplete, Provider: r.Provider,
			Message: fmt.Sprintf("configuration of a %s runtime lacks %s", *r.DigestKind, missing),
		}
	}
	if err != nil {
		return malformed(r.Provider, fmt.Errorf("configuration: %w", err))
	}
	return nil
}

func cleanAbsolute(p string) bool { return path.IsAbs(p) && path.Clean(p) == p }

// checkTree says what a SOURCE_TREE's configuration lacks or has wrong. Records
// of others may leave tree_format out for an entrypoint, which has one format.
func (c configuration) checkTree() (missing string, err error) {
	switch {
	case c.Root != "" && c.Entrypoint != "":
		return "", errors.New("both root and entrypoint, which name two trees")
	case c.Entrypoint != "":
		if !matches(entrypointPattern, c.Entrypoint) {
			return "", fmt.Errorf("entrypoint %q is not module.sub:attribute", c.Entrypoint)
		}
		if c.TreeFormat != "" && c.TreeFormat != digest.FormatPackageV2 {
			return "", fmt.Errorf("tree_format %q, an entrypoint has %s", c.TreeFormat, digest.FormatPackageV2)
		}
		for _, dir := range c.SearchPath {
			if !cleanAbsolute(dir) {
				return "", fmt.Errorf("search_path %q is not an absolute folder", dir)
			}
		}
		return "", nil
	case !cleanAbsolute(c.Root):
		return "entrypoint, or root (an absolute path)", nil
	case c.TreeFormat == "":
		return "tree_format", nil
	case c.TreeFormat != digest.FormatTreeV1:
		return "", fmt.Errorf("tree_format %q, a root has %s", c.TreeFormat, digest.FormatTreeV1)
	}
	return "", nil
}

// checkComponents parses every component: an AVAILABLE composite has available
// components only, one of each provider.
func (r *Record) checkComponents(components []jsontext.Value) error {
	if *r.Version != CompositeVersion {
		return fmt.Errorf("version %q, a COMPOSITE has %s", *r.Version, CompositeVersion)
	}
	seen := map[string]bool{}
	for i, raw := range components {
		c, err := ParseRuntime(raw)
		switch {
		case err != nil:
			return fmt.Errorf("component %d: %v", i+1, err) // its code must not become ours
		case !c.Available():
			return fmt.Errorf("component %d, %s, is not AVAILABLE", i+1, c.Provider())
		case seen[c.Provider()]:
			return fmt.Errorf("component %q is there twice", c.Provider())
		}
		seen[c.Provider()] = true
	}
	return nil
}
