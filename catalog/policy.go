package catalog

import (
	"fmt"
	"slices"
	"strings"

	godigest "github.com/opencontainers/go-digest"
	"golang.org/x/text/cases"

	"github.com/provider-measure/provider-measure/provider"
)

// Profile is a named set of rules that a policy starts from.
type Profile string

// The profiles.
const (
	// ProfileDefault adds no rule.
	ProfileDefault Profile = "DEFAULT"
	// ProfileNoRetrieval denies the tag "retrieval".
	ProfileNoRetrieval Profile = "COMPUTE_VERIFY_NO_RETRIEVAL"
)

const retrievalTag = "retrieval"

// Why a policy keeps a capability out, as the provider-runtime contract spells
// it.
const (
	ReasonIDNotAllowed     = "capability_id_not_allowed"
	ReasonIDDenied         = "capability_id_denied"
	ReasonDomainNotAllowed = "domain_not_allowed"
	ReasonDomainDenied     = "domain_denied"
	ReasonTagNotAllowed    = "tag_not_allowed"
	ReasonTagDenied        = "tag_denied"
	ReasonModeNotAllowed   = "mode_not_allowed"
	ReasonModeDenied       = "mode_denied"
)

// Rules are the sets that a policy allows and denies. An allowed set that is
// empty allows everything. Order and repetition mean nothing.
//
// IDs and modes are compared as they are. Domains (the text of an ID before its
// first dot) and tags are compared after Unicode case folding, by their runs of
// ASCII letters and digits joined by "_": "Graph-Theory" is "graph_theory".
type Rules struct {
	AllowedIDs     []string
	DeniedIDs      []string
	AllowedDomains []string
	DeniedDomains  []string
	AllowedTags    []string
	DeniedTags     []string
	AllowedModes   []provider.Mode
	DeniedModes    []provider.Mode
}

// Policy decides which registered capabilities a catalog shows, and in which
// modes. It never makes anything available, and never changes the authority of
// a checker. It is immutable; the zero value is no policy and allows nothing.
type Policy struct {
	definition policyDefinition
	digest     godigest.Digest
}

// NewPolicy makes a policy of a profile and further rules.
//
// The error is [CodePolicyProfile] for an unknown profile, [CodePolicyMode] for
// an unknown mode, [CodePolicyBlank] for a value with nothing to compare, and
// [CodePolicyOverlap] for one that is allowed and denied, both as compared, the
// profile's own rules included.
func NewPolicy(profile Profile, rules Rules) (Policy, error) {
	return newPolicy("make policy", profile, rules)
}

// IsZero reports whether p is no policy at all.
func (p Policy) IsZero() bool { return p.digest == "" }

// Profile is the policy's profile.
func (p Policy) Profile() Profile { return p.definition.Profile }

// Digest is the sha256 of the canonical definition.
func (p Policy) Digest() godigest.Digest { return p.digest }

// Rules are the policy's sets, the profile's own rules included, each sorted.
func (p Policy) Rules() Rules {
	d := p.definition
	return Rules{
		AllowedIDs: slices.Clone(d.AllowedIDs), DeniedIDs: slices.Clone(d.DeniedIDs),
		AllowedDomains: slices.Clone(d.AllowedDomains), DeniedDomains: slices.Clone(d.DeniedDomains),
		AllowedTags: slices.Clone(d.AllowedTags), DeniedTags: slices.Clone(d.DeniedTags),
		AllowedModes: slices.Clone(d.AllowedModes), DeniedModes: slices.Clone(d.DeniedModes),
	}
}

// Decision is what a policy says of one capability. The zero value does not
// allow it.
type Decision struct {
	Allowed bool            `json:"allowed"`
	Modes   []provider.Mode `json:"modes"` // those that are left, in the descriptor's order
	Profile Profile         `json:"policy_profile"`
	Digest  godigest.Digest `json:"policy_digest"`
	Reasons []string        `json:"reasons"` // for each of ID, domain, tags, modes: not allowed, then denied
	// CheckerAuthorizationAffected is always false: a policy restricts what is
	// shown and can't touch what a checker was authorized for.
	CheckerAuthorizationAffected bool `json:"checker_authorization_affected"`
}

// Decide says whether the catalog shows d, and in which modes. A capability none
// of whose modes is left is not shown.
func (p Policy) Decide(d Descriptor) Decision {
	decision := p.decide(d)
	for _, m := range d.r.Modes {
		if len(p.modeReasons(m)) == 0 {
			decision.Modes = append(decision.Modes, m)
		}
	}
	if len(decision.Modes) == 0 {
		decision.Reasons = append(decision.Reasons, p.modeReasons(d.r.Modes...)...)
	}
	return p.settle(decision, d)
}

// DecideMode says whether d may be asked for mode. That d has the mode at all is
// for the caller to check.
func (p Policy) DecideMode(d Descriptor, mode provider.Mode) Decision {
	decision := p.decide(d)
	decision.Reasons = append(decision.Reasons, p.modeReasons(mode)...)
	decision.Modes = []provider.Mode{mode}
	return p.settle(decision, d)
}

// settle allows what nothing speaks against, but neither by no policy nor of no
// descriptor.
func (p Policy) settle(decision Decision, d Descriptor) Decision {
	decision.Allowed = len(decision.Reasons) == 0 && !p.IsZero() && !d.IsZero()
	if !decision.Allowed {
		decision.Modes = []provider.Mode{}
	}
	return decision
}

// decide applies the rules but for those of modes.
func (p Policy) decide(d Descriptor) Decision {
	rules := p.definition
	decision := Decision{Profile: rules.Profile, Digest: p.digest, Reasons: []string{}}
	deny := func(is bool, reason string) {
		if is {
			decision.Reasons = append(decision.Reasons, reason)
		}
	}
	domain, _, _ := strings.Cut(d.ID(), ".")
	domains, tags := []string{fold(domain)}, foldAll(d.r.Tags)
	deny(len(rules.AllowedIDs) > 0 && !slices.Contains(rules.AllowedIDs, d.ID()), ReasonIDNotAllowed)
	deny(slices.Contains(rules.DeniedIDs, d.ID()), ReasonIDDenied)
	deny(len(rules.AllowedDomains) > 0 && !meet(domains, rules.AllowedDomains), ReasonDomainNotAllowed)
	deny(meet(domains, rules.DeniedDomains), ReasonDomainDenied)
	deny(len(rules.AllowedTags) > 0 && !meet(tags, rules.AllowedTags), ReasonTagNotAllowed)
	deny(meet(tags, rules.DeniedTags), ReasonTagDenied)
	return decision
}

// modeReasons are the reasons that hold against any of modes.
func (p Policy) modeReasons(modes ...provider.Mode) []string {
	var notAllowed, denied bool
	for _, m := range modes {
		notAllowed = notAllowed || (len(p.definition.AllowedModes) > 0 && !slices.Contains(p.definition.AllowedModes, m))
		denied = denied || slices.Contains(p.definition.DeniedModes, m)
	}
	var reasons []string
	if notAllowed {
		reasons = append(reasons, ReasonModeNotAllowed)
	}
	if denied {
		reasons = append(reasons, ReasonModeDenied)
	}
	return reasons
}

// meet reports whether a folded value is among values as compared.
func meet(folded, values []string) bool {
	return slices.ContainsFunc(foldAll(values), func(v string) bool { return slices.Contains(folded, v) })
}

// fold is how domains and tags are compared.
func fold(s string) string {
	runs := strings.FieldsFunc(cases.Fold().String(s), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	return strings.Join(runs, "_")
}

func foldAll(values []string) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = fold(v)
	}
	return out
}

func profiles() []string { return []string{string(ProfileDefault), string(ProfileNoRetrieval)} }

func knownProfile(p Profile) bool { return slices.Contains(profiles(), string(p)) }

func quoted(values []string) string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = fmt.Sprintf("%q", v)
	}
	return strings.Join(out, ", ")
}
