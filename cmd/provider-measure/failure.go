package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/provider-measure/provider-measure/catalog"
	"github.com/provider-measure/provider-measure/digest"
	"github.com/provider-measure/provider-measure/probe"
	"github.com/provider-measure/provider-measure/provider"
)

// Code names a failure of the command itself; codes never change.
type Code string

func (c Code) Error() string { return string(c) }

// Codes of the command.
const (
	codeUsage             Code = "USAGE"
	codeConfiguration     Code = "CONFIGURATION"
	codeUnknownCapability Code = "UNKNOWN_CAPABILITY"
	codeUnknownProvider   Code = "UNKNOWN_PROVIDER"
	codeUnknownCode       Code = "UNKNOWN_CODE"
	codeUnknownSchema     Code = "UNKNOWN_SCHEMA"
	codeIdentity          Code = "EXPECTED_IDENTITY"
	codeCancelled         Code = "CANCELLED"
	codeOutputFailed      Code = "OUTPUT_FAILED"
	codeInternal          Code = "INTERNAL"
)

// commandError is a failure as the person who typed the command sees it.
type commandError struct {
	Code    error // a stable code
	Reason  string
	Message string
	Hint    string
	Path    string
	exit    int
	err     error
}

func (e *commandError) Error() string { return e.Message }
func (e *commandError) Unwrap() error { return e.err }

// asCommandError gives every error a code and an exit status.
func asCommandError(err error) *commandError {
	var ce *commandError
	if errors.As(err, &ce) {
		return ce
	}
	if errors.Is(err, context.Canceled) {
		return &commandError{Code: codeCancelled, Message: "cancelled", exit: exitUnfinished, err: err}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return &commandError{Code: codeCancelled, Message: "timed out", exit: exitUnfinished, err: err}
	}
	if e := manifestFailure(err); e != nil {
		return e
	}
	if e := catalogFailure(err); e != nil {
		return e
	}
	if e := providerFailure(err); e != nil {
		return e
	}
	if e := libraryFailure(err); e != nil {
		return e
	}
	return &commandError{Code: codeInternal, Message: err.Error(), exit: exitUnfinished, err: err}
}

func manifestFailure(err error) *commandError {
	var me *provider.ManifestError
	if !errors.As(err, &me) {
		return nil
	}
	e := &commandError{Code: codeConfiguration, Reason: me.Reason.Error(), Message: me.Error(), Path: me.File, exit: exitUsage, err: err}
	if me.Nearest != "" {
		e.Hint = fmt.Sprintf("write %q", me.Nearest)
	}
	return e
}

// catalogFailure is a promise of an operator that can't be kept, with the code
// and reason of the first provider and the names of all, or a descriptor that the
// registry refused, which is the manifest's fault.
func catalogFailure(err error) *commandError {
	var ce *catalog.Error
	if !errors.As(err, &ce) {
		return nil
	}
	if e := providerFailure(err); e != nil {
		e.Message, e.Hint, e.Path, e.err = ce.Message, ce.Hint, ce.Path, err
		return e
	}
	return &commandError{Code: ce.Code, Message: ce.Error(), Hint: ce.Hint, Path: ce.Path, exit: exitUsage, err: err}
}

func providerFailure(err error) *commandError {
	var pe *provider.Error
	if !errors.As(err, &pe) {
		return nil
	}
	e := &commandError{Code: pe.Code, Reason: pe.ReasonText(), Message: pe.Error(), Hint: pe.Hint, Path: pe.Path, exit: exitFinding, err: err}
	if undetermined(pe) {
		e.exit = exitUnknown
	}
	return e
}

// undetermined tells a provider that is wrong from one that could not be looked
// at: missing permission, failing storage, no descriptor left.
func undetermined(pe *provider.Error) bool {
	for _, code := range []error{
		digest.CodePermission, digest.CodeIO, digest.CodeDescriptorLimit, digest.CodeTooDeep, digest.CodeTooLarge,
		probe.CodeScratch, probe.CodeObserve, probe.CodeNotSupported, provider.ReasonWorkersUnavailable,
	} {
		if errors.Is(pe, code) {
			return true
		}
	}
	return false
}

func libraryFailure(err error) *commandError {
	var de *digest.Error
	if errors.As(err, &de) {
		e := &commandError{Code: de.Code, Message: de.Error(), Path: de.Path, exit: exitFinding, err: err}
		switch de.Code {
		case digest.CodePermission, digest.CodeIO, digest.CodeDescriptorLimit, digest.CodeTooDeep, digest.CodeTooLarge:
			e.exit = exitUnknown
		case digest.CodeInvalidArgument, digest.CodeEntrypointInvalid, digest.CodeExclusionInvalid, digest.CodeExclusionUnused,
			digest.CodeNotFound:
			e.exit = exitUsage
		case digest.CodeCancelled:
			e.exit = exitUnfinished
		}
		return e
	}
	var be *probe.Error
	if errors.As(err, &be) {
		return &commandError{Code: be.Code, Message: be.Error(), exit: exitUnknown, err: err}
	}
	return nil
}
