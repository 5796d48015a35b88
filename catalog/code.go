package catalog

import (
	"fmt"
	"strings"
)

// Code names one reason of refusal; codes never change.
type Code string

func (c Code) Error() string { return string(c) }

// Reasons of refusal.
const (
	// CodeDescriptorInvalid: a descriptor breaks a rule of the contract.
	CodeDescriptorInvalid Code = "catalog.descriptor_invalid"
	// CodeDocumentInvalid: a catalog document breaks a rule of the contract.
	CodeDocumentInvalid Code = "catalog.document_invalid"
	// CodeUnsorted: the capabilities of a catalog are not in byte order of ID.
	CodeUnsorted Code = "catalog.unsorted"

	// CodeDuplicateID: the capability is registered, or listed, already.
	CodeDuplicateID Code = "catalog.duplicate_id"
	// CodeRuntimeMissing: the descriptor names no measured runtime.
	CodeRuntimeMissing Code = "catalog.runtime_missing"
	// CodeRuntimeUnavailable: the descriptor's runtime is not AVAILABLE.
	CodeRuntimeUnavailable Code = "catalog.runtime_unavailable"
	// CodeSchemaInvalid: the input or output schema is not a JSON Schema 2020-12.
	CodeSchemaInvalid Code = "catalog.schema_invalid"
	// CodeSchemaReference: a schema refers to a document outside itself. It comes
	// with CodeSchemaInvalid.
	CodeSchemaReference Code = "catalog.schema_reference"
	// CodeExampleRejected: the input schema rejects an invocation example.
	CodeExampleRejected Code = "catalog.example_rejected"

	// CodePolicyInvalid: a policy definition does not parse.
	CodePolicyInvalid Code = "catalog.policy_invalid"
	// CodePolicyProfile: the policy names a profile that is not known.
	CodePolicyProfile Code = "catalog.policy_profile_unknown"
	// CodePolicyMode: the policy names a mode that is not known.
	CodePolicyMode Code = "catalog.policy_mode_unknown"
	// CodePolicyBlank: a value of the policy is blank, or has no letter or digit
	// to compare.
	CodePolicyBlank Code = "catalog.policy_blank_value"
	// CodePolicyOverlap: the policy allows and denies the same value.
	CodePolicyOverlap Code = "catalog.policy_overlap"

	// CodeProviderUnavailable: a provider that an operator promised can't be had.
	// The [provider.Error] that says why comes with it.
	CodeProviderUnavailable Code = "catalog.provider_unavailable"
	// CodeOptionInvalid: an option of Open is out of range.
	CodeOptionInvalid Code = "catalog.option_invalid"
)

// Error is why something was refused.
type Error struct {
	Code     Code
	Op       string // what was tried: "register", "parse descriptor", …
	ID       string // the capability concerned, when there is one
	Provider string // the provider concerned, when there is one
	Path     string // JSON pointer, list or file concerned, when there is one
	Message  string // for people; may change
	Hint     string // what would mend it; may be empty
	Err      error  // the cause; may be nil
}

func (e *Error) Error() string {
	parts := []string{e.Op}
	for _, s := range []string{e.ID, e.Path} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	text := e.Message
	if text == "" && e.Err != nil {
		text = e.Err.Error()
	}
	return fmt.Sprintf("%s: %s: %s", strings.Join(parts, " "), e.Code, text)
}

// Unwrap gives the code, then the cause.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Code}
	}
	return []error{e.Code, e.Err}
}
