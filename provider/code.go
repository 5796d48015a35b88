package provider

import (
	"errors"
	"fmt"
	"strings"
)

// Code is one of the five answers that a provider check fails with. They are
// part of the provider-runtime contract and never change.
type Code string

func (c Code) Error() string { return string(c) }

// The five codes.
const (
	// CodeIdentityIncomplete: the record lacks what is needed to measure.
	CodeIdentityIncomplete Code = "IDENTITY_INCOMPLETE"
	// CodeMalformedRuntime: the record, a component or the installed metadata
	// does not parse, or RECORD has no hashes.
	CodeMalformedRuntime Code = "MALFORMED_RUNTIME"
	// CodeUnavailable: file, package or interpreter gone, or a probe failed.
	CodeUnavailable Code = "UNAVAILABLE"
	// CodeIdentityChanged: what was measured differs from what is recorded.
	CodeIdentityChanged Code = "IDENTITY_CHANGED"
	// CodeReadinessFailed: module or attribute missing at first use, or the
	// executable does not answer.
	CodeReadinessFailed Code = "READINESS_FAILED"
)

// Reason is the finer cause behind a [Code], stable and documented like it. A
// reason from package digest or probe travels under its own name.
type Reason string

func (r Reason) Error() string { return string(r) }

// Reasons of this package.
const (
	// ReasonVersionSkew: another version is installed than the one that is pinned
	// or recorded.
	ReasonVersionSkew Reason = "provider.version_skew"
	// ReasonVersionUnknown: the health probe passed and told no version.
	ReasonVersionUnknown Reason = "provider.version_unknown"
	// ReasonDigestPin: the measured digest is not the one that the manifest pins.
	ReasonDigestPin Reason = "provider.digest_pin"
	// ReasonExecutableMissing: the executable is not on PATH, is gone, or is no
	// executable file.
	ReasonExecutableMissing Reason = "provider.executable_missing"
	// ReasonPythonMissing: no interpreter, or one that does not answer.
	ReasonPythonMissing Reason = "provider.python_missing"
	// ReasonPythonLayout: the interpreter's environment can't be read.
	ReasonPythonLayout Reason = "provider.python_layout"
	// ReasonImportMissing: installed, but its module is not to be found.
	ReasonImportMissing Reason = "provider.import_missing"
	// ReasonImportShadowed: an import would load a file of somebody else.
	ReasonImportShadowed Reason = "provider.import_shadowed"
	// ReasonEditable: an editable install, or one whose checkout is gone.
	ReasonEditable Reason = "provider.editable"
	// ReasonRecordConflict: RECORD has two rows for one file that disagree.
	ReasonRecordConflict Reason = "provider.record_conflict"
	// ReasonRecordedMissing: a file that RECORD names is not there.
	ReasonRecordedMissing Reason = "provider.recorded_file_missing"
	// ReasonRecordedRefused: RECORD names a path that is absolute, leads out of
	// the environment or through a link, or is no regular file.
	ReasonRecordedRefused Reason = "provider.recorded_path_refused"
	// ReasonFilesDiffer: verify_files found a file that does not verify.
	ReasonFilesDiffer Reason = "provider.files_differ"
	// ReasonProbeFailed: a probe could not be run to its end.
	ReasonProbeFailed Reason = "provider.probe_failed"
	// ReasonProbeUnexpected: a probe ended by itself with another answer.
	ReasonProbeUnexpected Reason = "provider.probe_unexpected"
	// ReasonComponent: a component of a composite is unavailable.
	ReasonComponent Reason = "provider.component_unavailable"
	// ReasonComponentUnknown: a composite names a provider that no manifest
	// declares, or itself, or too many.
	ReasonComponentUnknown Reason = "provider.component_unknown"
	// ReasonDigestDiffers: measured again, the identity is another.
	ReasonDigestDiffers Reason = "provider.digest_differs"
	// ReasonLineEndings: another identity, by line endings and nothing else.
	ReasonLineEndings Reason = "provider.line_endings"
	// ReasonRecordInvalid: the record breaks a rule of the contract.
	ReasonRecordInvalid Reason = "provider.record_invalid"
	// ReasonRecordIncomplete: the record lacks what its kind is measured by.
	ReasonRecordIncomplete Reason = "provider.record_incomplete"
	// ReasonRecordUnavailable: the record says UNAVAILABLE.
	ReasonRecordUnavailable Reason = "provider.record_unavailable"
	// ReasonPathUnrepresentable: a path that JSON in Unicode NFC can't hold, so
	// that nobody could measure it again.
	ReasonPathUnrepresentable Reason = "provider.path_unrepresentable"
	// ReasonAttributeMissing: the module lacks a required attribute.
	ReasonAttributeMissing Reason = "provider.attribute_missing"
	// ReasonImportFailed: the module can't be imported.
	ReasonImportFailed Reason = "provider.import_failed"
	// ReasonWorkersUnavailable: the built-in workers are not laid out.
	ReasonWorkersUnavailable Reason = "provider.workers_unavailable"
)

// Error is why a provider check failed.
type Error struct {
	Code     Code
	Reason   error  // a Reason here, or a Code of package digest or probe; nil when Code says all
	Provider string // the provider that failed, a component's own name in a composite
	Path     string // the file or folder concerned, when there is one
	Message  string // for people; may change
	Hint     string // what would mend it; may be empty
	Err      error  // the cause; may be nil
}

func (e *Error) Error() string {
	var b strings.Builder
	if e.Provider != "" {
		fmt.Fprintf(&b, "%s: ", e.Provider)
	}
	b.WriteString(e.Message)
	if e.Message == "" && e.Err != nil {
		b.WriteString(e.Err.Error())
	}
	if e.Message == "" && e.Err == nil {
		b.WriteString(string(e.Code))
	}
	return b.String()
}

// Unwrap gives the code, the reason and the cause.
func (e *Error) Unwrap() []error {
	errs := []error{e.Code}
	if e.Reason != nil {
		errs = append(errs, e.Reason)
	}
	if e.Err != nil {
		errs = append(errs, e.Err)
	}
	return errs
}

// ReasonText is the reason's stable spelling, or "".
func (e *Error) ReasonText() string {
	if e.Reason == nil {
		return ""
	}
	return e.Reason.Error()
}

// AsError returns err as an *Error of the caller's own, which may be changed; a
// foreign error becomes one with code fallback, and nil stays nil.
func AsError(err error, fallback Code) *Error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		own := *e
		return &own
	}
	return &Error{Code: fallback, Message: err.Error(), Err: err}
}
