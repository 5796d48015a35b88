package digest

import "strings"

const opPackage = "python package"

// maxDotted is the limit of dotted names in the runtime record.
const maxDotted = 256

// entrypoint is module.sub:attribute, taken apart.
type entrypoint struct {
	parts     []string // of the module, at least one
	attribute string
}

// parseEntrypoint accepts ASCII identifiers only: Python folds other letters
// (NFKC) before it looks for a file, so that one name could be several files.
func parseEntrypoint(s string) (entrypoint, error) {
	module, attr, ok := strings.Cut(s, ":")
	if !ok {
		return entrypoint{}, fail(CodeEntrypointInvalid, opPackage, "", "entrypoint %q has no colon; it must be module:attribute", s)
	}
	parts, why := dottedParts(module)
	if why != "" {
		return entrypoint{}, fail(CodeEntrypointInvalid, opPackage, "", "entrypoint %q: module %s", s, why)
	}
	if !identifier(attr) {
		return entrypoint{}, fail(CodeEntrypointInvalid, opPackage, "", "entrypoint %q: attribute is not one identifier", s)
	}
	return entrypoint{parts: parts, attribute: attr}, nil
}

func dottedParts(module string) (parts []string, why string) {
	if module == "" {
		return nil, "is empty"
	}
	if len(module) > maxDotted {
		return nil, "is longer than 256 bytes"
	}
	parts = strings.Split(module, ".")
	for _, p := range parts {
		if !identifier(p) {
			return nil, "has a part that is not an ASCII identifier"
		}
	}
	return parts, ""
}

func identifier(s string) bool {
	if s == "" || len(s) > maxDotted {
		return false
	}
	for i := range len(s) {
		c := s[i]
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return true
}
