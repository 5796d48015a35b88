package catalog

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	godigest "github.com/opencontainers/go-digest"

	"github.com/provider-measure/provider-measure/internal/canonjson"
	"github.com/provider-measure/provider-measure/internal/strictjson"
)

const (
	// CatalogVersion is the only version of the catalog document.
	CatalogVersion = "1"
	// URI names the catalog as a resource.
	URI = "capability://catalog"
	// MediaType is the media type of the catalog document.
	MediaType = "application/json"
)

// catalogDocument is the catalog's JSON form. Decoding leaves the descriptors to
// their own parser.
type catalogDocument[D any] struct {
	CatalogVersion string          `json:"catalog_version"`
	PolicyProfile  string          `json:"policy_profile"`
	PolicyDigest   godigest.Digest `json:"policy_digest"`
	Capabilities   []D             `json:"capabilities"`
}

// Catalog is an immutable list of offered capabilities in byte order of ID, each
// with its measured, AVAILABLE runtime, and the policy that it was made under.
type Catalog struct {
	profile      string
	policyDigest godigest.Digest
	capabilities []Descriptor
	canonical    []byte // the whole document, never written to
}

// newCatalog checks everything about a catalog but its descriptors' own rules.
func newCatalog(op, profile string, policyDigest godigest.Digest, capabilities []Descriptor) (*Catalog, error) {
	invalid := func(code Code, path, id, format string, args ...any) (*Catalog, error) {
		return nil, &Error{Code: code, Op: op, ID: id, Path: path, Err: fmt.Errorf(format, args...)}
	}
	if err := checkLength(profile, 1, 64); err != nil {
		return invalid(CodeDocumentInvalid, "/policy_profile", "", "%w", err)
	}
	if !matches(digestPattern, policyDigest.String()) {
		return invalid(CodeDocumentInvalid, "/policy_digest", "", "%q is not sha256: and 64 lower-case hex digits", policyDigest)
	}
	for i, d := range capabilities {
		path := fmt.Sprintf("/capabilities/%d", i)
		if i > 0 {
			switch before := capabilities[i-1].ID(); {
			case before == d.ID():
				return invalid(CodeDuplicateID, path, d.ID(), "it is listed twice")
			case before > d.ID():
				return invalid(CodeUnsorted, path, d.ID(), "it stands after %s", before)
			}
		}
		if rt := d.Runtime(); rt.IsZero() {
			return invalid(CodeRuntimeMissing, path+"/provider_runtime", d.ID(), "only what has a measured runtime is ever in a catalog")
		} else if !rt.Available() {
			return invalid(CodeRuntimeUnavailable, path+"/provider_runtime", d.ID(), "only what is AVAILABLE is ever in a catalog: %s", rt.Diagnostic())
		}
	}
	c := &Catalog{profile: profile, policyDigest: policyDigest, capabilities: slices.Clone(capabilities)}
	canonical, err := canonjson.Marshal(catalogDocument[Descriptor]{CatalogVersion, profile, policyDigest, c.capabilities})
	if err != nil {
		return invalid(CodeDocumentInvalid, "", "", "%w", err)
	}
	c.canonical = canonical
	return c, nil
}

// ParseCatalog reads a catalog document as JSON: all four keys and nothing else,
// every descriptor as [ParseDescriptor] takes it, with an AVAILABLE runtime, in
// byte order of ID. What the schemas and examples in it are worth is not
// checked; a [Registry] does that.
//
// The error is [CodeDocumentInvalid], [CodeDescriptorInvalid], [CodeUnsorted],
// [CodeDuplicateID], [CodeRuntimeMissing] or [CodeRuntimeUnavailable].
func ParseCatalog(data []byte) (*Catalog, error) {
	const op = "parse catalog"
	var doc catalogDocument[jsontext.Value]
	if err := strictjson.Decode(data, &doc); err != nil {
		return nil, &Error{Code: CodeDocumentInvalid, Op: op, Err: err}
	}
	var members map[string]jsontext.Value
	if err := json.Unmarshal(data, &members); err != nil {
		return nil, &Error{Code: CodeDocumentInvalid, Op: op, Err: err}
	}
	for _, key := range []string{"catalog_version", "policy_profile", "policy_digest", "capabilities"} {
		if err := checkMember(members, key, required); err != nil {
			return nil, &Error{Code: CodeDocumentInvalid, Op: op, Path: "/" + key, Err: err}
		}
	}
	if doc.CatalogVersion != CatalogVersion {
		return nil, &Error{Code: CodeDocumentInvalid, Op: op, Path: "/catalog_version", Message: fmt.Sprintf("%q, want %q", doc.CatalogVersion, CatalogVersion)}
	}
	capabilities := make([]Descriptor, 0, len(doc.Capabilities))
	for i, raw := range doc.Capabilities {
		d, err := parseDescriptor(fmt.Sprintf("%s: capability %d:", op, i), raw)
		if err != nil {
			return nil, err
		}
		capabilities = append(capabilities, d)
	}
	return newCatalog(op, doc.PolicyProfile, doc.PolicyDigest, capabilities)
}

// PolicyProfile is the profile of the policy that the catalog was made under.
func (c *Catalog) PolicyProfile() string { return c.profile }

// PolicyDigest is the digest of that policy.
func (c *Catalog) PolicyDigest() godigest.Digest { return c.policyDigest }

// Capabilities are the offered capabilities in byte order of ID.
func (c *Catalog) Capabilities() []Descriptor { return slices.Clone(c.capabilities) }

// IDs are the IDs of the offered capabilities in byte order.
func (c *Catalog) IDs() []string {
	ids := make([]string, len(c.capabilities))
	for i, d := range c.capabilities {
		ids[i] = d.ID()
	}
	return ids
}

// Lookup finds an offered capability.
func (c *Catalog) Lookup(id string) (Descriptor, bool) {
	i, ok := slices.BinarySearchFunc(c.capabilities, id, func(d Descriptor, id string) int { return bytes.Compare([]byte(d.ID()), []byte(id)) })
	if !ok {
		return Descriptor{}, false
	}
	return c.capabilities[i], true
}

// Digest is the sha256 of the canonical document: two catalogs with one digest
// offer the same capabilities by the same bytes.
func (c *Catalog) Digest() godigest.Digest { return godigest.FromBytes(c.canonical) }

// MarshalJSON prints the document in canonical form.
func (c *Catalog) MarshalJSON() ([]byte, error) { return bytes.Clone(c.canonical), nil }
