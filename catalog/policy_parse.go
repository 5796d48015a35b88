package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/text/unicode/norm"

	"github.com/provider-measure/provider-measure/internal/canonjson"
	"github.com/provider-measure/provider-measure/internal/nearest"
	"github.com/provider-measure/provider-measure/internal/strictjson"
	"github.com/provider-measure/provider-measure/provider"
)

// PolicyVersion is the only version of the policy definition.
const PolicyVersion = "1"

// policyDefinition is what the policy's digest is over.
type policyDefinition struct {
	PolicyVersion   string          `json:"policy_version"`
	Profile         Profile         `json:"profile"`
	AllowedIDs      []string        `json:"allowed_capability_ids"`
	DeniedIDs       []string        `json:"denied_capability_ids"`
	AllowedDomains  []string        `json:"allowed_domains"`
	DeniedDomains   []string        `json:"denied_domains"`
	AllowedTags     []string        `json:"allowed_tags"`
	DeniedTags      []string        `json:"denied_tags"`
	AllowedModes    []provider.Mode `json:"allowed_modes"`
	DeniedModes     []provider.Mode `json:"denied_modes"`
	CheckerAffected bool            `json:"checker_authorization_affected"`
}

// MarshalJSON prints the definition in canonical form. The zero value prints
// null.
func (p Policy) MarshalJSON() ([]byte, error) {
	if p.IsZero() {
		return []byte("null"), nil
	}
	return canonjson.Marshal(p.definition)
}

// ParsePolicy reads a policy's definition as JSON. policy_version and profile
// must be there; a list that is absent is empty, and checker_authorization_affected
// can only be false. What the profile adds need not be listed.
//
// The error is [CodePolicyInvalid] for what does not parse, or one of those of
// [NewPolicy].
func ParsePolicy(data []byte) (Policy, error) {
	const op = "parse policy"
	var d policyDefinition
	if err := strictjson.Decode(data, &d); err != nil {
		return Policy{}, &Error{Code: CodePolicyInvalid, Op: op, Err: err}
	}
	if path, err := checkPolicyMembers(data); err != nil {
		return Policy{}, &Error{Code: CodePolicyInvalid, Op: op, Path: path, Err: err}
	}
	if d.PolicyVersion != PolicyVersion {
		return Policy{}, &Error{Code: CodePolicyInvalid, Op: op, Path: "/policy_version", Message: fmt.Sprintf("%q, want %q", d.PolicyVersion, PolicyVersion)}
	}
	if d.CheckerAffected {
		return Policy{}, &Error{Code: CodePolicyInvalid, Op: op, Path: "/checker_authorization_affected", Message: "a policy can't affect the authorization of checkers"}
	}
	return newPolicy(op, d.Profile, Policy{definition: d}.Rules())
}

func checkPolicyMembers(data []byte) (path string, err error) {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(data, &members); err != nil {
		return "", err
	}
	for _, key := range []string{"policy_version", "profile"} {
		if err := checkMember(members, key, required); err != nil {
			return "/" + key, err
		}
	}
	for key, value := range members {
		if err := checkMember(members, key, optional); err != nil {
			return "/" + key, err
		}
		if value.Kind() != '[' {
			continue
		}
		if path, err := checkNoNulls(value, "/"+key); err != nil {
			return path, err
		}
	}
	return "", nil
}

func newPolicy(op string, profile Profile, rules Rules) (Policy, error) {
	if !knownProfile(profile) {
		return Policy{}, unknownWord(op, CodePolicyProfile, "/profile", string(profile), profiles())
	}
	denied := rules.DeniedTags
	if profile == ProfileNoRetrieval {
		denied = append(slices.Clone(denied), retrievalTag)
	}
	d := policyDefinition{
		PolicyVersion: PolicyVersion, Profile: profile,
		AllowedIDs: set(rules.AllowedIDs), DeniedIDs: set(rules.DeniedIDs),
		AllowedDomains: set(rules.AllowedDomains), DeniedDomains: set(rules.DeniedDomains),
		AllowedTags: set(rules.AllowedTags), DeniedTags: set(denied),
		AllowedModes: set(rules.AllowedModes), DeniedModes: set(rules.DeniedModes),
	}
	if err := d.check(op); err != nil {
		return Policy{}, err
	}
	digest, err := canonjson.Digest(d)
	if err != nil {
		return Policy{}, &Error{Code: CodePolicyInvalid, Op: op, Err: err}
	}
	return Policy{definition: d, digest: digest}, nil
}

// set sorts values and drops repetitions. They are put in NFC first, since that
// is how they are printed.
func set[S ~string](values []S) []S {
	out := make([]S, len(values))
	for i, v := range values {
		out[i] = S(norm.NFC.String(string(v)))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (d *policyDefinition) check(op string) error {
	for _, pair := range []struct {
		name            string
		allowed, denied []string
		compared        func(string) string
	}{
		{"capability_ids", d.AllowedIDs, d.DeniedIDs, strings.TrimSpace},
		{"domains", d.AllowedDomains, d.DeniedDomains, fold},
		{"tags", d.AllowedTags, d.DeniedTags, fold},
	} {
		if err := checkValues(op, "/allowed_"+pair.name, pair.allowed, pair.compared); err != nil {
			return err
		}
		if err := checkValues(op, "/denied_"+pair.name, pair.denied, pair.compared); err != nil {
			return err
		}
		if err := checkOverlap(op, pair.name, pair.allowed, pair.denied, pair.compared); err != nil {
			return err
		}
	}
	for path, modes := range map[string][]provider.Mode{"/allowed_modes": d.AllowedModes, "/denied_modes": d.DeniedModes} {
		for _, m := range modes {
			if !validMode(m) {
				return unknownWord(op, CodePolicyMode, path, string(m), []string{string(provider.Explore), string(provider.Verify)})
			}
		}
	}
	same := func(s string) string { return s }
	return checkOverlap(op, "modes", words(d.AllowedModes), words(d.DeniedModes), same)
}

// checkValues refuses what compares as nothing: it would match nothing, or
// everything that also compares as nothing.
func checkValues(op, path string, values []string, compared func(string) string) error {
	for _, v := range values {
		if compared(v) == "" {
			return &Error{Code: CodePolicyBlank, Op: op, Path: path, Message: fmt.Sprintf("%q is blank", v), Hint: "name what is meant, or leave the value out"}
		}
	}
	return nil
}

func checkOverlap(op, name string, allowed, denied []string, compared func(string) string) error {
	for _, a := range allowed {
		for _, d := range denied {
			if compared(a) == compared(d) {
				return &Error{
					Code: CodePolicyOverlap, Op: op, Path: "/allowed_" + name,
					Message: fmt.Sprintf("%q is allowed, and denied as %q", a, d), Hint: "take it out of one of the two sets; the profile may deny it",
				}
			}
		}
	}
	return nil
}

func unknownWord(op string, code Code, path, word string, known []string) error {
	e := &Error{Code: code, Op: op, Path: path, Message: fmt.Sprintf("%q is none of %s", word, quoted(known))}
	if near := nearest.Of(word, known); near != "" {
		e.Hint = fmt.Sprintf("did you mean %q?", near)
	}
	return e
}

func words[S ~string](values []S) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}
