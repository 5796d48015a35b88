package measure

import (
	"fmt"
	"strings"
)

// Code is a stable reason of this package. Codes are errors; those of a failure
// that a record can hold also begin its detail, as `code: text`.
type Code string

func (c Code) Error() string { return string(c) }

// Codes of an [Error].
const (
	CodeUnknownCapability Code = "measure.unknown_capability" // no manifest offers the ID
	CodeBadOptions        Code = "measure.bad_options"        // an option is out of its bounds
	CodeRecordMalformed   Code = "measure.record_malformed"   // not strict JSON of the record's form
	CodeRecordInvalid     Code = "measure.record_invalid"     // the form is right, and a rule of the record is broken
)

// Codes that begin the detail of a part of a record.
const (
	CodeNotAskedFor        Code = "measure.not_asked_for"       // SKIPPED: a cold install runs only when it is asked for
	CodeNotDeclared        Code = "measure.not_declared"        // SKIPPED: the manifest has no such probe, or no installer
	CodeInstallerMissing   Code = "measure.installer_missing"   // SKIPPED: the host has no program that could install
	CodeNetworkUnreachable Code = "measure.network_unreachable" // ERROR: the installer got no connection to its index
	CodeInstallFailed      Code = "measure.install_failed"      // ERROR: the installer ended with a failure of another kind
	CodeInstallStopped     Code = "measure.install_stopped"     // ERROR: the installer reached a limit and was stopped
	CodeInstallMismatch    Code = "measure.install_mismatch"    // ERROR: what was installed is not what was asked for
	CodeNotMeasured        Code = "measure.not_measured"        // a size or number could not be obtained
	CodeSampleFailed       Code = "measure.sample_failed"       // ERROR: a sample ended wrongly and has no finer reason
)

// Error is every failure of this package's own. Failures of the provider are
// *provider.Error.
type Error struct {
	Code    Code
	Op      string // what was being done
	Path    string // the capability, option or member concerned
	Nearest string // what was probably meant
	Hint    string // what would mend it
	Err     error  // the cause; may be nil
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Op)
	if e.Path != "" {
		fmt.Fprintf(&b, " %q", e.Path)
	}
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	} else {
		fmt.Fprintf(&b, ": %s", e.Code)
	}
	if e.Nearest != "" {
		fmt.Fprintf(&b, "; did you mean %q?", e.Nearest)
	}
	return b.String()
}

// Unwrap gives the code, then the cause.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Code}
	}
	return []error{e.Code, e.Err}
}
