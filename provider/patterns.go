package provider

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/github/go-spdx/v2/spdxexp"
)

// The scalar forms of the provider-runtime contract. Go's $ without (?m) matches
// only at the end of the text, so a trailing newline is refused.
const (
	providerPattern   = `^[a-z0-9]+([._-][a-z0-9]+)*$`
	capabilityPattern = `^[a-z][a-z0-9]*([._-][a-z0-9]+)+$`
	checkerPattern    = `^checker://sha256/[0-9a-f]{64}$`
	digestPattern     = `^sha256:[0-9a-f]{64}$`
	identifierPattern = `^[A-Za-z_][A-Za-z0-9_]*$`
	dottedPattern     = `^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$`
	namePattern       = `^[a-z][a-z0-9]*([._-][a-z0-9]+)*$`
	// relativePathPattern has no part that is empty, . or .. (RE2 has no
	// look-ahead, so it spells out what else a part may begin with).
	// A backslash separates too, for a reader that takes it so.
	relativePathPattern = `^([^/\\.][^/\\]*|\.[^/\\.][^/\\]*|\.\.[^/\\]+)([/\\]([^/\\.][^/\\]*|\.[^/\\.][^/\\]*|\.\.[^/\\]+))*$`
	entrypointPattern   = `^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*:[A-Za-z_][A-Za-z0-9_]*$`
	// platformPattern is what HostPlatform gives on the systems that are supported.
	platformPattern = `^(linux-(x86_64|aarch64|i686|armv7l|ppc64le|riscv64|s390x|loongarch64)|macosx-[0-9]+(\.[0-9]+)?-(arm64|x86_64))$`
	envNamePattern  = `^[A-Za-z_][A-Za-z0-9_]*$`
)

// matches compiles on each call: a compiled package variable would be state, and
// a record has a dozen scalars.
func matches(pattern, s string) bool { return regexp.MustCompile(pattern).MatchString(s) }

// ValidProviderID reports whether s may name a provider.
func ValidProviderID(s string) bool {
	return lengthWithin(s, 3, 128) && matches(providerPattern, s)
}

// ValidCapabilityID reports whether s may name a capability. It always has a
// separator, so no command can be mistaken for one.
func ValidCapabilityID(s string) bool {
	return lengthWithin(s, 3, 128) && matches(capabilityPattern, s)
}

// lengthWithin counts characters, not bytes.
func lengthWithin(s string, least, most int) bool {
	n := utf8.RuneCountInString(s)
	return n >= least && n <= most
}

func checkLength(what, s string, least, most int) error {
	if !utf8.ValidString(s) {
		return fmt.Errorf("%s is not valid UTF-8", what)
	}
	if !lengthWithin(s, least, most) {
		return fmt.Errorf("%s has %d characters, allowed are %d to %d", what, utf8.RuneCountInString(s), least, most)
	}
	return nil
}

func checkUnique(what string, values []string, most int, check func(string) error) error {
	if most > 0 && len(values) > most {
		return fmt.Errorf("%s has %d entries, at most %d", what, len(values), most)
	}
	seen := map[string]bool{}
	for _, v := range values {
		if seen[v] {
			return fmt.Errorf("%s repeats %q", what, v)
		}
		seen[v] = true
		if err := check(v); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	return nil
}

// checkRelativePath accepts what a license_files entry may be.
func checkRelativePath(s string) error {
	if err := checkLength("path", s, 1, 256); err != nil {
		return err
	}
	if strings.HasPrefix(s, "/") {
		return fmt.Errorf("%q is not relative", s)
	}
	for part := range strings.SplitSeq(strings.ReplaceAll(s, `\`, "/"), "/") {
		if part == "" || part == "." || part == ".." {
			return fmt.Errorf("%q has an empty, . or .. part", s)
		}
	}
	return nil
}

// checkLicense accepts an SPDX licence expression of 1 to 128 characters.
func checkLicense(s string) error {
	if err := checkLength("license_id", s, 1, 128); err != nil {
		return err
	}
	// The library trims white space, which would let "MIT\n" through.
	if ok, _ := spdxexp.ValidateLicenses([]string{s}); !ok || strings.TrimSpace(s) != s || strings.ContainsAny(s, "\r\n\t") {
		return fmt.Errorf("license_id %q is not an SPDX licence expression", s)
	}
	return nil
}
