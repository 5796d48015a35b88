package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-measure/provider-measure/internal/strictjson"
	"github.com/provider-measure/provider-measure/provider"
)

func TestPolicyGolden(t *testing.T) {
	var golden struct {
		Derived struct {
			Policy []struct {
				Definition json.RawMessage `json:"definition"`
				Digest     string          `json:"digest"`
				Profile    Profile         `json:"profile"`
			} `json:"policy"`
		} `json:"derived"`
	}
	if err := json.Unmarshal(data(t, "vectors", "golden.json"), &golden); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, v := range golden.Derived.Policy {
		if !bytes.Contains(v.Definition, []byte("allowed_modes")) {
			continue // of a later contract, without modes
		}
		seen++
		p := policy(t, v.Profile, Rules{})
		if p.Digest().String() != v.Digest || p.Profile() != v.Profile {
			t.Errorf("%s has digest %s, want %s", v.Profile, p.Digest(), v.Digest)
		}
		parsed, err := ParsePolicy(v.Definition)
		if err != nil || parsed.Digest() != p.Digest() {
			t.Errorf("%s parses to %s, %v", v.Profile, parsed.Digest(), err)
		}
		printed, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		var got, want any
		if json.Unmarshal(printed, &got) != nil || json.Unmarshal(v.Definition, &want) != nil || !cmp.Equal(want, got) {
			t.Errorf("prints %s, want %s", printed, v.Definition)
		}
	}
	if seen != 2 {
		t.Fatalf("%d vectors, want 2", seen)
	}
}

func TestPolicyDigest(t *testing.T) {
	a := policy(t, ProfileDefault, Rules{DeniedTags: []string{"b", "a", "b"}, AllowedIDs: []string{"graph.demo"}})
	b := policy(t, ProfileDefault, Rules{AllowedIDs: []string{"graph.demo", "graph.demo"}, DeniedTags: []string{"a", "b"}})
	if a.Digest() != b.Digest() {
		t.Error("order or repetition is in the digest")
	}
	// The definition keeps the operator's spelling; only comparing folds.
	if c := policy(t, ProfileDefault, Rules{AllowedIDs: []string{"graph.demo"}, DeniedTags: []string{"A", "b"}}); c.Digest() == a.Digest() {
		t.Error("spelling is not in the digest")
	}
	if policy(t, ProfileNoRetrieval, Rules{DeniedTags: []string{retrievalTag}}).Digest() != policy(t, ProfileNoRetrieval, Rules{}).Digest() {
		t.Error("what the profile adds counts twice")
	}
}

func TestNewPolicyRefuses(t *testing.T) {
	modes := func(m ...provider.Mode) []provider.Mode { return m }
	tests := []struct {
		name    string
		profile Profile
		rules   Rules
		code    Code
		path    string
		hint    string
	}{
		{"no profile", "", Rules{}, CodePolicyProfile, "/profile", ""},
		{"profile in other case", "Default", Rules{}, CodePolicyProfile, "/profile", `did you mean "DEFAULT"?`},
		{"unknown profile", "STRICT", Rules{}, CodePolicyProfile, "/profile", ""},
		{"unknown mode", ProfileDefault, Rules{AllowedModes: modes("EXPLOR")}, CodePolicyMode, "/allowed_modes", `did you mean "EXPLORE"?`},
		{"blank mode", ProfileDefault, Rules{DeniedModes: modes("")}, CodePolicyMode, "/denied_modes", ""},
		{"blank ID", ProfileDefault, Rules{AllowedIDs: []string{" \t"}}, CodePolicyBlank, "/allowed_capability_ids", "?"},
		{"blank domain", ProfileDefault, Rules{DeniedDomains: []string{""}}, CodePolicyBlank, "/denied_domains", "?"},
		{"tag of signs only", ProfileDefault, Rules{DeniedTags: []string{"graph", "--"}}, CodePolicyBlank, "/denied_tags", "?"},
		{"same ID", ProfileDefault, Rules{AllowedIDs: []string{"a.b"}, DeniedIDs: []string{"c.d", "a.b"}}, CodePolicyOverlap, "/allowed_capability_ids", "?"},
		{"same domain", ProfileDefault, Rules{AllowedDomains: []string{"graph"}, DeniedDomains: []string{"graph"}}, CodePolicyOverlap, "/allowed_domains", "?"},
		{"same domain when folded", ProfileDefault, Rules{AllowedDomains: []string{"Graph-Theory"}, DeniedDomains: []string{"graph theory"}}, CodePolicyOverlap, "/allowed_domains", "?"},
		{"same tag when folded", ProfileDefault, Rules{AllowedTags: []string{"ſat"}, DeniedTags: []string{"SAT"}}, CodePolicyOverlap, "/allowed_tags", "?"},
		{"same mode", ProfileDefault, Rules{AllowedModes: modes("VERIFY"), DeniedModes: modes("VERIFY")}, CodePolicyOverlap, "/allowed_modes", "?"},
		{"what the profile denies", ProfileNoRetrieval, Rules{AllowedTags: []string{"Retrieval"}}, CodePolicyOverlap, "/allowed_tags", "?"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := NewPolicy(tt.profile, tt.rules)
			e := wantCode(t, err, tt.code)
			if e.Path != tt.path || (tt.hint != "?" && e.Hint != tt.hint) || (tt.hint == "?" && e.Hint == "") {
				t.Errorf("path %q, hint %q", e.Path, e.Hint)
			}
			if !p.IsZero() {
				t.Error("a policy beside the error")
			}
		})
	}
	// IDs are compared exactly, so these don't overlap.
	policy(t, ProfileDefault, Rules{AllowedIDs: []string{"a.b"}, DeniedIDs: []string{"a_b"}})
}

func TestDecide(t *testing.T) {
	modes := func(m ...provider.Mode) []provider.Mode { return m }
	explore, verify := provider.Explore, provider.Verify
	tests := []struct {
		name    string
		rules   Rules
		modes   []provider.Mode
		reasons []string
	}{
		{"no rules", Rules{}, modes(explore, verify), nil},
		{"ID allowed", Rules{AllowedIDs: []string{"graph-theory.demo"}}, modes(explore, verify), nil},
		{"ID not allowed", Rules{AllowedIDs: []string{"graph-theory.other"}}, nil, []string{ReasonIDNotAllowed}},
		{"ID in other spelling", Rules{AllowedIDs: []string{"graph_theory.demo"}}, nil, []string{ReasonIDNotAllowed}},
		{"ID denied", Rules{DeniedIDs: []string{"graph-theory.demo"}}, nil, []string{ReasonIDDenied}},
		{"domain allowed", Rules{AllowedDomains: []string{"GRAPH Theory"}}, modes(explore, verify), nil},
		{"domain not allowed", Rules{AllowedDomains: []string{"graph"}}, nil, []string{ReasonDomainNotAllowed}},
		{"domain denied", Rules{DeniedDomains: []string{"sat", "graph__theory"}}, nil, []string{ReasonDomainDenied}},
		{"one tag allowed", Rules{AllowedTags: []string{"x", "exact.result"}}, modes(explore, verify), nil},
		{"no tag allowed", Rules{AllowedTags: []string{"x"}}, nil, []string{ReasonTagNotAllowed}},
		{"one tag denied", Rules{AllowedTags: []string{"graph"}, DeniedTags: []string{"EXACT result"}}, nil, []string{ReasonTagDenied}},
		{"mode allowed", Rules{AllowedModes: modes(verify)}, modes(verify), nil},
		{"mode denied", Rules{DeniedModes: modes(verify)}, modes(explore), nil},
		{"no mode left", Rules{DeniedModes: modes(verify, explore)}, nil, []string{ReasonModeDenied}},
		{"no mode left in two ways", Rules{AllowedModes: modes(verify), DeniedModes: modes(explore)}, modes(verify), nil},
		{
			"everything",
			Rules{
				AllowedIDs: []string{"a.b"}, DeniedIDs: []string{"graph-theory.demo"}, AllowedDomains: []string{"a"}, DeniedDomains: []string{"graph-theory"},
				AllowedTags: []string{"a"}, DeniedTags: []string{"graph"}, DeniedModes: modes(explore, verify),
			},
			nil,
			[]string{ReasonIDNotAllowed, ReasonIDDenied, ReasonDomainNotAllowed, ReasonDomainDenied, ReasonTagNotAllowed, ReasonTagDenied, ReasonModeDenied},
		},
	}
	d := descriptor(t, "graph-theory.demo", func(r *DescriptorRecord) {
		r.Tags, r.Modes = []string{"Graph", "Exact-Result"}, modes(explore, verify)
	})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := policy(t, ProfileDefault, tt.rules)
			want := Decision{
				Allowed: tt.reasons == nil, Modes: append([]provider.Mode{}, tt.modes...),
				Profile: ProfileDefault, Digest: p.Digest(), Reasons: append([]string{}, tt.reasons...),
			}
			if diff := cmp.Diff(want, p.Decide(d)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
	if (Policy{}).Decide(d).Allowed || (Policy{}).DecideMode(d, explore).Allowed {
		t.Error("no policy allows")
	}
	if policy(t, ProfileDefault, Rules{}).Decide(Descriptor{}).Allowed {
		t.Error("no descriptor is allowed")
	}
}

// Behaviour 43: a denial names profile, digest and reasons, and never touches
// checkers.
func TestDecideMode(t *testing.T) {
	d := descriptor(t, "graph.demo")
	p := policy(t, ProfileNoRetrieval, Rules{AllowedModes: []provider.Mode{"VERIFY"}, DeniedModes: []provider.Mode{"EXPLORE"}})
	got, err := json.Marshal(p.DecideMode(d, provider.Explore))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"allowed":false,"modes":[],"policy_profile":"COMPUTE_VERIFY_NO_RETRIEVAL","policy_digest":"` + p.Digest().String() +
		`","reasons":["mode_not_allowed","mode_denied"],"checker_authorization_affected":false}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if got := p.DecideMode(d, provider.Verify); !got.Allowed || !cmp.Equal(got.Modes, []provider.Mode{provider.Verify}) {
		t.Errorf("got %+v", got)
	}
}

func TestFold(t *testing.T) {
	for in, want := range map[string]string{
		"graph": "graph", "Graph-Theory": "graph_theory", "  a..b  ": "a_b", "a_b": "a_b", "STRASSE": "strasse", "straße": "strasse",
		"\u212aelvin": "kelvin", "数学": "", "数a学b": "a_b", "é": "", "x9": "x9", "": "",
	} {
		if got := fold(in); got != want {
			t.Errorf("fold(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestParsePolicy(t *testing.T) {
	const least = `"policy_version":"1","profile":"DEFAULT"`
	tests := []struct {
		name, in string
		is       error // nil is accepted
	}{
		{"least", `{` + least + `}`, nil},
		{"rules", `{` + least + `,"denied_tags":["b","a"],"allowed_modes":["VERIFY"],"checker_authorization_affected":false}`, nil},
		{"no version", `{"profile":"DEFAULT"}`, CodePolicyInvalid},
		{"other version", `{"policy_version":"2","profile":"DEFAULT"}`, CodePolicyInvalid},
		{"no profile", `{"policy_version":"1"}`, CodePolicyInvalid},
		{"unknown profile", `{"policy_version":"1","profile":"X"}`, CodePolicyProfile},
		{"unknown key", `{` + least + `,"denied_tag":[]}`, strictjson.CodeUnknownKey},
		{"repeated key", `{` + least + `,"profile":"DEFAULT"}`, strictjson.CodeDuplicateKey},
		{"null list", `{` + least + `,"denied_tags":null}`, CodePolicyInvalid},
		{"null value", `{` + least + `,"denied_tags":[null]}`, CodePolicyInvalid},
		{"null mode", `{` + least + `,"denied_modes":[null]}`, CodePolicyInvalid},
		{"wrong type", `{` + least + `,"denied_tags":"a"}`, strictjson.CodeWrongType},
		{"blank", `{` + least + `,"denied_tags":[" "]}`, CodePolicyBlank},
		{"overlap", `{` + least + `,"denied_tags":["A"],"allowed_tags":["a"]}`, CodePolicyOverlap},
		{"unknown mode", `{` + least + `,"denied_modes":["explore"]}`, CodePolicyMode},
		{"affects checkers", `{` + least + `,"checker_authorization_affected":true}`, CodePolicyInvalid},
		{"null", `null`, CodePolicyInvalid},
		{"trailing", `{` + least + `}x`, strictjson.CodeTrailingData},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := ParsePolicy([]byte(tt.in))
			if tt.is == nil {
				if err != nil {
					t.Fatal(err)
				}
				policyRoundTrip(t, p)
				return
			}
			var e *Error
			if !errors.Is(err, tt.is) || !errors.As(err, &e) || !p.IsZero() {
				t.Errorf("got %v, %v, want %v", p, err, tt.is)
			}
		})
	}
	zero, err := json.Marshal(Policy{})
	if err != nil || string(zero) != "null" {
		t.Errorf("zero prints %s, %v", zero, err)
	}
}

func policyRoundTrip(t testing.TB, p Policy) {
	t.Helper()
	printed, err := p.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParsePolicy(printed)
	if err != nil || again.Digest() != p.Digest() {
		t.Fatalf("%s reads back with %s, want %s, %v", printed, again.Digest(), p.Digest(), err)
	}
	rebuilt, err := NewPolicy(p.Profile(), p.Rules())
	if err != nil || rebuilt.Digest() != p.Digest() {
		t.Fatalf("rules of %s make %s, %v", printed, rebuilt.Digest(), err)
	}
}

func TestPolicyIsImmutable(t *testing.T) {
	rules := Rules{DeniedTags: []string{"a"}}
	p := policy(t, ProfileDefault, rules)
	rules.DeniedTags[0] = "b"
	p.Rules().DeniedTags[0] = "b"
	if got := p.Rules().DeniedTags[0]; got != "a" {
		t.Errorf("denied tag %q", got)
	}
}

func FuzzParsePolicy(f *testing.F) {
	for _, s := range []string{
		`{"policy_version":"1","profile":"DEFAULT"}`,
		`{"policy_version":"1","profile":"COMPUTE_VERIFY_NO_RETRIEVAL","denied_tags":["retrieval","ſ"],"allowed_domains":["e\u0301a"]}`,
		`{"policy_version":"1","profile":"DEFAULT","allowed_capability_ids":["a.b"],"denied_capability_ids":["a.c"],"allowed_modes":["VERIFY"]}`,
		`{"policy_version":"1","profile":"DEFAULT","denied_domains":["A-b"],"checker_authorization_affected":false}`,
	} {
		if _, err := ParsePolicy([]byte(s)); err != nil {
			f.Fatalf("seed %s: %v", s, err)
		}
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		p, err := ParsePolicy(in)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || !p.IsZero() {
				t.Fatalf("%v, %v", p, err)
			}
			return
		}
		policyRoundTrip(t, p)
	})
}
