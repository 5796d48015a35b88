package catalog

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/provider-measure/provider-measure/internal/strictjson"
)

// ParseDescriptor reads one capability descriptor as JSON. Unknown and repeated
// keys are refused. A key that has a default may be absent: read_only (false),
// accepted_input_kinds (STRUCTURED_REQUEST), tags, accepted_artifact_types and
// invocation_examples (empty). provider_runtime may be null, which a registry
// refuses; nothing else may be.
//
// Every failure is [CodeDescriptorInvalid], with the pointer of the member and
// the code of package provider when the runtime is what is wrong.
func ParseDescriptor(data []byte) (Descriptor, error) {
	return parseDescriptor("parse descriptor", data)
}

func parseDescriptor(op string, data []byte) (Descriptor, error) {
	var record DescriptorRecord
	if err := strictjson.Decode(data, &record); err != nil {
		return Descriptor{}, &Error{Code: CodeDescriptorInvalid, Op: op, Err: err}
	}
	if path, err := checkPresent(data); err != nil {
		return Descriptor{}, &Error{Code: CodeDescriptorInvalid, Op: op, ID: record.CapabilityID, Path: path, Err: err}
	}
	return describe(op, record)
}

// presence says what a member may be besides a value.
type presence int

const (
	required presence = iota // must be there and not null
	optional                 // may be absent, not null
	nullable                 // must be there, may be null
)

func descriptorPresence(key string) presence {
	switch key {
	case "provider_runtime":
		return nullable
	case "read_only", "tags", "accepted_input_kinds", "accepted_artifact_types", "invocation_examples":
		return optional
	}
	return required
}

// descriptorKeys are the 15 keys of the contract.
func descriptorKeys() []string {
	return []string{
		"descriptor_version", "capability_id", "version", "title", "description", "provider", "provider_runtime",
		"input_schema", "output_schema", "read_only", "tags", "modes", "accepted_input_kinds", "accepted_artifact_types",
		"invocation_examples",
	}
}

func exampleKeys() []string { return []string{"name", "description", "input", "mode"} }

// checkPresent finds members that are absent or null where they must not be,
// which decoding alone can't tell from empty ones. The input of an example may
// be null: its schema decides.
func checkPresent(data []byte) (path string, err error) {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(data, &members); err != nil {
		return "", err
	}
	for _, key := range descriptorKeys() {
		if err := checkMember(members, key, descriptorPresence(key)); err != nil {
			return "/" + key, err
		}
	}
	for _, key := range []string{"tags", "modes", "accepted_input_kinds", "accepted_artifact_types"} {
		if path, err := checkNoNulls(members[key], "/"+key); err != nil {
			return path, err
		}
	}
	var examples []map[string]jsontext.Value
	if raw := members["invocation_examples"]; len(raw) > 0 {
		if err := json.Unmarshal(raw, &examples); err != nil {
			return "/invocation_examples", err
		}
	}
	for i, example := range examples {
		for _, key := range exampleKeys() {
			allowed := required
			if key == "input" {
				allowed = nullable
			}
			if err := checkMember(example, key, allowed); err != nil {
				return fmt.Sprintf("/invocation_examples/%d/%s", i, key), err
			}
		}
	}
	return "", nil
}

func checkMember(members map[string]jsontext.Value, key string, allowed presence) error {
	value, ok := members[key]
	if !ok && allowed != optional {
		return fmt.Errorf("key %q is missing", key)
	}
	if ok && value.Kind() == 'n' && allowed != nullable {
		return fmt.Errorf("key %q is null", key)
	}
	return nil
}

// checkNoNulls refuses null as an element, which decodes as an empty string.
func checkNoNulls(list jsontext.Value, path string) (string, error) {
	if len(list) == 0 {
		return "", nil
	}
	var elements []jsontext.Value
	if err := json.Unmarshal(list, &elements); err != nil {
		return path, err
	}
	for i, e := range elements {
		if e.Kind() == 'n' {
			return fmt.Sprintf("%s/%d", path, i), fmt.Errorf("an element is null")
		}
	}
	return "", nil
}
