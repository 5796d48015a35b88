package provider

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/provider-measure/provider-measure/digest"
)

// compose lists the components that would cover what is not covered: first
// providers that the host knows, then what would have to be declared.
func (c *Closure) compose(ctx context.Context, h *Host, own *claims, id Identification) {
	c.Composite = []ClosureComponent{}
	left := slices.DeleteFunc(c.missing(), func(f *ClosureFile) bool { return f.Coverage == Moved })
	self := ClosureComponent{Kind: c.DigestKind, Provider: c.Provider, Name: componentName(id), Files: c.Covered}
	if c.DigestKind == digest.CompositeKind {
		for _, component := range id.Measured.Components {
			part := ClosureComponent{Kind: component.Manifest.Identity.Kind, Provider: component.Manifest.ID, Name: componentName(component)}
			part.Files = c.coveredBy(component.Manifest.ID)
			c.Composite = append(c.Composite, part)
		}
	} else {
		c.Composite = append(c.Composite, self)
	}
	left = c.composeKnown(ctx, h, id, left)
	left = c.composeDeclared(left)
	c.Remaining = len(left) + c.Changed
}

func (c *Closure) coveredBy(provider string) int {
	n := 0
	for _, f := range c.Files {
		if f.Coverage == Covered && f.CoveredBy == provider {
			n++
		}
	}
	return n
}

// componentName is what an identity is of.
func componentName(id Identification) string {
	m := id.Measured
	switch {
	case m.Executable != nil:
		return m.Executable.Path
	case m.Tree != nil:
		return m.Tree.Root
	case m.Distribution != nil:
		return m.Distribution.Name
	}
	return id.Manifest.ID
}

// composeKnown adds the host's other providers that cover some of left, and
// returns what is left then. They are measured, without their health probes.
func (c *Closure) composeKnown(ctx context.Context, h *Host, id Identification, left []*ClosureFile) []*ClosureFile {
	part := map[string]bool{id.Manifest.ID: true}
	for _, component := range id.Measured.Components {
		part[component.Manifest.ID] = true
	}
	for _, m := range h.set.Manifests() {
		if len(left) == 0 || ctx.Err() != nil {
			break
		}
		if part[m.ID] || m.Identity.Kind == digest.CompositeKind {
			continue
		}
		other := Identification{Manifest: m}
		if _, _, _, failure := h.measure(ctx, m, &other, h.Identify); failure != nil {
			continue
		}
		theirs := newClaims()
		theirs.add(other)
		component := ClosureComponent{Kind: m.Identity.Kind, Provider: m.ID, Name: componentName(other)}
		left = slices.DeleteFunc(slices.Clone(left), func(f *ClosureFile) bool {
			_, covered := theirs.covers(&f.ObservedFile)
			if covered {
				component.Files++
			}
			return covered
		})
		if component.Files > 0 {
			c.Composite = append(c.Composite, component)
		}
	}
	return left
}

// composeDeclared adds components that would have to be declared and returns what
// no kind of identity covers.
func (c *Closure) composeDeclared(left []*ClosureFile) []*ClosureFile {
	found := map[string]*ClosureComponent{}
	var rest []*ClosureFile
	for _, f := range left {
		component, ok := declarable(f)
		if !ok {
			rest = append(rest, f)
			continue
		}
		key := string(component.Kind) + " " + component.Name
		if found[key] == nil {
			found[key] = &component
		}
		found[key].Files++
	}
	var added []ClosureComponent
	for _, component := range found {
		added = append(added, *component)
	}
	slices.SortFunc(added, func(a, b ClosureComponent) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	c.Composite = append(c.Composite, added...)
	return rest
}

// declarable is the identity that would cover a file, if any kind does.
func declarable(f *ClosureFile) (ClosureComponent, bool) {
	switch {
	case isBytecode(f.Path) || f.Deleted:
		return ClosureComponent{}, false
	case f.Executed:
		return ClosureComponent{Kind: digest.ExecutableKind, Name: f.Path}, true
	case f.Owner.Kind == OwnerDistribution:
		return ClosureComponent{Kind: digest.PythonRecord, Name: f.Owner.Name}, true
	case f.Owner.Kind == OwnerInterpreter && f.Owner.Root != "":
		component := ClosureComponent{Kind: digest.SourceTree, Name: f.Owner.Root}
		if strings.HasPrefix(filepath.Base(f.Owner.Root), "python") {
			component.Exclude = []string{"site-packages"}
		}
		return component, true
	case f.Owner.Kind == OwnerNone && f.Owner.Root != "":
		return ClosureComponent{Kind: digest.SourceTree, Name: f.Owner.Root}, true
	}
	return ClosureComponent{}, false
}
