package provider

import (
	"errors"
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
	for _, m := range s.manifests {
		if err := s.checkComponents(m, nil); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *Set) checkComponents(m *Manifest, above []string) error {
	above = append(above, m.ID)
	for _, id := range m.Identity.Components {
		component, ok := s.byProvider[id]
		var err error
		switch {
		case !ok:
			err = fmt.Errorf("component %q is not a known provider", id)
		case slices.Contains(above, id):
			err = errors.New("component cycle: " + strings.Join(append(above, id), " > "))
		}
		if err != nil {
			return &ManifestError{File: m.Source, Reason: ReasonComponentUnknown, Key: "identity.components", Err: err}
		}
		if err := s.checkComponents(component, above); err != nil {
			return err
		}
	}
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
