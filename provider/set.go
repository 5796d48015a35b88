package provider

import (
	"fmt"
	"slices"
	"sort"
	"strings"
)

// Set is every manifest that this process knows, in byte order of provider ID.
// An operator's manifest takes the place of the built-in one of the same
// provider; any other repetition of a provider or capability is refused.
type Set struct {
	manifests  []*Manifest
	byProvider map[string]*Manifest
	byID       map[string]*Manifest // capability ID to its manifest
}

// NewSet joins manifests. The error is [ReasonManifestDuplicate], or
// [ReasonComponentUnknown] for a composite that names an unknown provider or
// itself.
func NewSet(manifests ...*Manifest) (*Set, error) {
	s := &Set{byProvider: map[string]*Manifest{}, byID: map[string]*Manifest{}}
	for _, m := range manifests {
		before, ok := s.byProvider[m.ID]
		switch {
		case !ok || (before.Origin == BuiltIn && m.Origin == Operator):
			s.byProvider[m.ID] = m
		case before.Origin == Operator && m.Origin == BuiltIn:
		default:
			return nil, &ManifestError{File: m.Source, Reason: ReasonManifestDuplicate, Key: "provider.id", Err: fmt.Errorf("%q is declared in %s already", m.ID, before.Source)}
		}
	}
	for _, m := range s.byProvider {
		s.manifests = append(s.manifests, m)
	}
	sort.Slice(s.manifests, func(i, j int) bool { return s.manifests[i].ID < s.manifests[j].ID })
	for _, m := range s.manifests {
		for _, c := range m.Capabilities {
			if before, ok := s.byID[c.ID]; ok {
				return nil, &ManifestError{File: m.Source, Reason: ReasonManifestDuplicate, Key: "capabilities", Err: fmt.Errorf("%q is offered in %s already", c.ID, before.Source)}
			}
			s.byID[c.ID] = m
		}
	}
	walked := map[string]extent{}
	for _, m := range s.manifests {
		if err := s.checkComponents(m, nil, walked); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// A composite's record holds its components' whole records, theirs too, so that
// sharing multiplies. These bound it long before JSON's own limits do.
const (
	maxComponentDepth   = 8
	maxComponentRecords = 256
)

// extent is how large a provider's record is, in records.
type extent struct{ depth, records int }

// checkComponents walks down from m, each provider once.
func (s *Set) checkComponents(m *Manifest, above []string, walked map[string]extent) error {
	refuse := func(format string, args ...any) error {
		return &ManifestError{File: m.Source, Reason: ReasonComponentUnknown, Key: "identity.components", Err: fmt.Errorf(format, args...)}
	}
	above = append(slices.Clone(above), m.ID)
	all := extent{depth: 1, records: 1}
	for _, id := range m.Identity.Components {
		component, ok := s.byProvider[id]
		if !ok {
			return refuse("component %q is not a known provider", id)
		}
		if slices.Contains(above, id) {
			return refuse("component cycle: %s > %s", strings.Join(above, " > "), id)
		}
		if _, done := walked[id]; !done {
			if err := s.checkComponents(component, above, walked); err != nil {
				return err
			}
		}
		all.depth = max(all.depth, walked[id].depth+1)
		all.records += walked[id].records
	}
	if all.depth > maxComponentDepth || all.records > maxComponentRecords {
		return refuse("%d records nested %d deep, at most %d and %d", all.records, all.depth, maxComponentRecords, maxComponentDepth)
	}
	walked[m.ID] = all
	return nil
}

// Manifests lists all manifests in byte order of provider ID.
func (s *Set) Manifests() []*Manifest { return append([]*Manifest(nil), s.manifests...) }

// Provider finds a manifest by provider ID.
func (s *Set) Provider(id string) (*Manifest, bool) {
	m, ok := s.byProvider[id]
	return m, ok
}

// Capability finds a capability by ID, with the manifest that offers it.
func (s *Set) Capability(id string) (*Manifest, *Capability, bool) {
	m, ok := s.byID[id]
	if !ok {
		return nil, nil, false
	}
	for i := range m.Capabilities {
		if m.Capabilities[i].ID == id {
			return m, &m.Capabilities[i], true
		}
	}
	return nil, nil, false
}

// CapabilityIDs lists every declared capability in byte order.
func (s *Set) CapabilityIDs() []string {
	ids := make([]string, 0, len(s.byID))
	for id := range s.byID {
		ids = append(ids, id)
	}
	sort.Strings(ids)
	return ids
}

// ProviderIDs lists every declared provider in byte order.
func (s *Set) ProviderIDs() []string {
	ids := make([]string, 0, len(s.manifests))
	for _, m := range s.manifests {
		ids = append(ids, m.ID)
	}
	return ids
}
