package catalog

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/provider-measure/provider-measure/internal/strictjson"
	"github.com/provider-measure/provider-measure/provider"
)

const (
	capabilityPattern = `^[a-z][a-z0-9]*([._-][a-z0-9]+)+$`
	namePattern       = `^[a-z][a-z0-9]*([._-][a-z0-9]+)*$`
	digestPattern     = `^sha256:[0-9a-f]{64}$`
)

// matches compiles on each call, as in package provider: a compiled package
// variable would be state.
func matches(pattern, s string) bool { return regexp.MustCompile(pattern).MatchString(s) }

// catalogDepth is how much deeper a descriptor stands in a catalog than alone:
// in an object, in an array.
const catalogDepth = 2

// checkDepth refuses a descriptor that could be read alone but would make any
// catalog that lists it unreadable.
func checkDepth(canonical []byte) error {
	wrapped := make([]byte, 0, len(canonical)+2*catalogDepth)
	wrapped = append(wrapped, "[["...)
	wrapped = append(wrapped, canonical...)
	if err := strictjson.Check(append(wrapped, "]]"...)); err != nil {
		return fmt.Errorf("it nests deeper than %d, or is too large, for a catalog to hold it: %w", strictjson.MaxDepth-catalogDepth, err)
	}
	return nil
}

// checkValues refuses Go values that have no JSON form or one that reads back
// as something else, before the record is printed.
func (r *DescriptorRecord) checkValues() (path string, err error) {
	for _, s := range []struct {
		path  string
		value jsontext.Value
	}{{"/input_schema", r.InputSchema}, {"/output_schema", r.OutputSchema}} {
		if s.value.Kind() != '{' {
			return s.path, errors.New("is not a JSON object")
		}
	}
	for i, e := range r.Examples {
		if len(e.Input) == 0 {
			return fmt.Sprintf("/invocation_examples/%d/input", i), errors.New("is missing")
		}
	}
	if r.ProviderRuntime != nil && r.ProviderRuntime.IsZero() {
		return "/provider_runtime", errors.New("is no record")
	}
	return "", nil
}

// check applies the rules of the contract and says which member breaks one.
func (r *DescriptorRecord) check() (path string, err error) {
	for _, step := range []func() (string, error){r.checkScalars, r.checkModes, r.checkInputKinds, r.checkExamples} {
		if path, err := step(); err != nil {
			return path, err
		}
	}
	return "", nil
}

func (r *DescriptorRecord) checkScalars() (string, error) {
	if r.DescriptorVersion != DescriptorVersion {
		return "/descriptor_version", fmt.Errorf("%q, want %q", r.DescriptorVersion, DescriptorVersion)
	}
	if !provider.ValidCapabilityID(r.CapabilityID) {
		return "/capability_id", fmt.Errorf("%q does not match %s with 3 to 128 characters", r.CapabilityID, capabilityPattern)
	}
	for _, s := range []struct {
		path, value string
		most        int
	}{{"/version", r.Version, 64}, {"/title", r.Title, 128}, {"/description", r.Description, 512}, {"/provider", r.Provider, 128}} {
		if err := checkLength(s.value, 1, s.most); err != nil {
			return s.path, err
		}
	}
	if r.ProviderRuntime != nil && r.ProviderRuntime.Provider() != r.Provider {
		return "/provider", fmt.Errorf("%q, but the runtime is that of %q", r.Provider, r.ProviderRuntime.Provider())
	}
	for i, tag := range r.Tags {
		if err := checkLength(tag, 1, 128); err != nil {
			return fmt.Sprintf("/tags/%d", i), err
		}
	}
	return "", nil
}

func (r *DescriptorRecord) checkModes() (string, error) {
	if len(r.Modes) == 0 {
		return "/modes", errors.New("is empty")
	}
	return checkUnique("/modes", r.Modes, func(m provider.Mode) error {
		if !validMode(m) {
			return fmt.Errorf("%q is neither EXPLORE nor VERIFY", m)
		}
		return nil
	})
}

func validMode(m provider.Mode) bool { return m == provider.Explore || m == provider.Verify }

func inputKinds() []string {
	return []string{KindStructuredRequest, KindFormalProposition, KindTypedArtifact, KindNaturalLanguageProof}
}

func (r *DescriptorRecord) checkInputKinds() (string, error) {
	if len(r.InputKinds) == 0 {
		return "/accepted_input_kinds", errors.New("is empty")
	}
	path, err := checkUnique("/accepted_input_kinds", r.InputKinds, func(kind string) error {
		if !slices.Contains(inputKinds(), kind) {
			return fmt.Errorf("%q is not an input kind", kind)
		}
		return nil
	})
	if err != nil {
		return path, err
	}
	path, err = checkUnique("/accepted_artifact_types", r.ArtifactTypes, func(s string) error { return checkLength(s, 1, 128) })
	if err != nil {
		return path, err
	}
	if slices.Contains(r.InputKinds, KindTypedArtifact) != (len(r.ArtifactTypes) > 0) {
		return "/accepted_artifact_types", errors.New("is needed exactly when TYPED_ARTIFACT is an accepted input kind")
	}
	return "", nil
}

func (r *DescriptorRecord) checkExamples() (string, error) {
	seen := map[string]bool{}
	for i, e := range r.Examples {
		path := fmt.Sprintf("/invocation_examples/%d", i)
		if !matches(namePattern, e.Name) || len(e.Name) > 64 {
			return path + "/name", fmt.Errorf("%q does not match %s with at most 64 characters", e.Name, namePattern)
		}
		if seen[e.Name] {
			return path + "/name", fmt.Errorf("%q is repeated", e.Name)
		}
		seen[e.Name] = true
		if err := checkLength(e.Description, 1, 256); err != nil {
			return path + "/description", err
		}
		if !slices.Contains(r.Modes, e.Mode) {
			return path + "/mode", fmt.Errorf("%q is not a mode of the capability", e.Mode)
		}
	}
	return "", nil
}

// checkLength counts characters, not bytes.
func checkLength(s string, least, most int) error {
	if n := utf8.RuneCountInString(s); n < least || n > most {
		return fmt.Errorf("has %d characters, allowed are %d to %d", n, least, most)
	}
	return nil
}

func checkUnique[S ~string](path string, values []S, check func(S) error) (string, error) {
	seen := map[S]bool{}
	for i, v := range values {
		at := fmt.Sprintf("%s/%d", path, i)
		if seen[v] {
			return at, fmt.Errorf("%q is repeated", v)
		}
		seen[v] = true
		if err := check(v); err != nil {
			return at, err
		}
	}
	return "", nil
}
