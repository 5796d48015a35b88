package provider

import (
	"fmt"
	"strings"
)

// Reasons for which a manifest is refused, beside those of its syntax.
const (
	// ReasonManifestInvalid: a value is not what its key takes.
	ReasonManifestInvalid Reason = "manifest.invalid_value"
	// ReasonManifestMissing: a key that is needed is not there, or empty.
	ReasonManifestMissing Reason = "manifest.missing_key"
	// ReasonManifestRange: a number, a text or a list exceeds its bounds.
	ReasonManifestRange Reason = "manifest.out_of_range"
	// ReasonManifestVersion: manifest_version is of another program.
	ReasonManifestVersion Reason = "manifest.unknown_version"
	// ReasonManifestSchema: a schema file can't be read, or is no JSON object.
	ReasonManifestSchema Reason = "manifest.bad_schema_file"
	// ReasonManifestUnreadable: the folder or a file of it can't be read.
	ReasonManifestUnreadable Reason = "manifest.unreadable"
	// ReasonManifestPermissions: somebody else could change the folder or a file.
	ReasonManifestPermissions Reason = "manifest.unsafe_permissions"
	// ReasonManifestDuplicate: a provider, capability, example or requirement is
	// declared twice.
	ReasonManifestDuplicate Reason = "manifest.duplicate"
)

// ManifestError is why a manifest was refused, and where.
type ManifestError struct {
	File    string
	Line    int    // from 1; 0 when the file as a whole is meant
	Column  int    // from 1, in bytes
	Key     string // dotted path of the key
	Nearest string // what was probably meant
	Reason  error  // a Reason, or a Code of internal/stricttoml's family "toml."
	Err     error  // details, may be nil
}

func (e *ManifestError) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", e.Line, e.Column)
	}
	fmt.Fprintf(&b, ": %v", e.Reason)
	if e.Key != "" {
		fmt.Fprintf(&b, ": %s", e.Key)
	}
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	if e.Nearest != "" {
		fmt.Fprintf(&b, "; did you mean %q?", e.Nearest)
	}
	return b.String()
}

// Unwrap gives the reason, then the cause.
func (e *ManifestError) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Reason}
	}
	return []error{e.Reason, e.Err}
}
