package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	godigest "github.com/opencontainers/go-digest"

	"github.com/provider-measure/provider-measure/internal/canonjson"
	"github.com/provider-measure/provider-measure/internal/strictjson"
	"github.com/provider-measure/provider-measure/provider"
)

// catalogOf is the default catalog of registered descriptors.
func catalogOf(t testing.TB, descriptors ...Descriptor) *Catalog {
	t.Helper()
	var r Registry
	for _, d := range descriptors {
		if err := r.Register(d); err != nil {
			t.Fatal(err)
		}
	}
	c, _, err := r.Catalog(policy(t, ProfileDefault, Rules{}))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCatalogJSON(t *testing.T) {
	b, a := descriptor(t, "b.demo"), descriptor(t, "a.demo")
	c := catalogOf(t, b, a)
	printed, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf(`{"capabilities":[%s,%s],"catalog_version":"1","policy_digest":"%s","policy_profile":"DEFAULT"}`,
		a.canonical, b.canonical, c.PolicyDigest())
	if string(printed) != want {
		t.Errorf("prints %s, want %s", printed, want)
	}
	if c.Digest() != godigest.FromString(want) {
		t.Errorf("digest %s", c.Digest())
	}
	if empty := catalogOf(t); !bytes.HasPrefix(empty.canonical, []byte(`{"capabilities":[],`)) {
		t.Errorf("empty prints %s", empty.canonical)
	}
	c.Capabilities()[0] = b
	printed[0] = 'x'
	if again, err := c.MarshalJSON(); err != nil || string(again) != want || c.IDs()[0] != "a.demo" {
		t.Error("a catalog was changed through what it gave out")
	}
	if URI != "capability://catalog" || MediaType != "application/json" {
		t.Error("URI or media type moved")
	}
}

func TestCatalogLookup(t *testing.T) {
	c := catalogOf(t, descriptor(t, "a.demo"), descriptor(t, "a-z.demo"), descriptor(t, "b.demo"))
	for _, id := range c.IDs() {
		if d, ok := c.Lookup(id); !ok || d.ID() != id {
			t.Errorf("%s finds %q, %t", id, d.ID(), ok)
		}
	}
	for _, id := range []string{"", "a.demo2", "A.demo", "c.demo"} {
		if d, ok := c.Lookup(id); ok || !d.IsZero() {
			t.Errorf("%s finds %q", id, d.ID())
		}
	}
}

func TestParseCatalog(t *testing.T) {
	a, b := string(descriptor(t, "a.demo").canonical), string(descriptor(t, "b.demo").canonical)
	down := unavailable(t, "demo-tool", "gone")
	noRuntime := string(descriptor(t, "c.demo", func(r *DescriptorRecord) { r.ProviderRuntime = nil }).canonical)
	unhealthy := string(descriptor(t, "c.demo", func(r *DescriptorRecord) { r.ProviderRuntime = &down }).canonical)
	sum := policy(t, ProfileDefault, Rules{}).Digest().String()
	document := func(version, profile, digest string, capabilities ...string) string {
		return fmt.Sprintf(`{"catalog_version":%q,"policy_profile":%q,"policy_digest":%q,"capabilities":[%s]}`, version, profile, digest, strings.Join(capabilities, ","))
	}
	good := document("1", "DEFAULT", sum, a, b)
	tests := []struct {
		name, in string
		code     Code // "" is accepted
		is       error
	}{
		{"two", good, "", nil},
		{"none", document("1", "DEFAULT", sum), "", nil},
		{"profile of another runtime", document("1", "STRICT", sum, a), "", nil},
		{"64 in profile", document("1", strings.Repeat("é", 64), sum), "", nil},
		{"65 in profile", document("1", strings.Repeat("é", 65), sum), CodeDocumentInvalid, nil},
		{"blank profile", document("1", "", sum), CodeDocumentInvalid, nil},
		{"other version", document("2", "DEFAULT", sum), CodeDocumentInvalid, nil},
		{"upper-case digest", document("1", "DEFAULT", "sha256:"+strings.Repeat("A", 64)), CodeDocumentInvalid, nil},
		{"short digest", document("1", "DEFAULT", sum[:70]), CodeDocumentInvalid, nil},
		{"newline after digest", document("1", "DEFAULT", sum+"\n"), CodeDocumentInvalid, nil},
		{"unsorted", document("1", "DEFAULT", sum, b, a), CodeUnsorted, nil},
		{"duplicate", document("1", "DEFAULT", sum, a, a), CodeDuplicateID, nil},
		{"duplicate apart", document("1", "DEFAULT", sum, a, b, a), CodeUnsorted, nil},
		{"no runtime", document("1", "DEFAULT", sum, a, noRuntime), CodeRuntimeMissing, nil},
		{"unavailable", document("1", "DEFAULT", sum, a, unhealthy), CodeRuntimeUnavailable, nil},
		{"malformed descriptor", document("1", "DEFAULT", sum, a, `{}`), CodeDescriptorInvalid, nil},
		{"null descriptor", document("1", "DEFAULT", sum, `null`), CodeDescriptorInvalid, nil},
		{"unknown key in a descriptor", document("1", "DEFAULT", sum, strings.Replace(a, "{", `{"x":1,`, 1)), CodeDescriptorInvalid, strictjson.CodeUnknownKey},
		{"broken runtime", document("1", "DEFAULT", sum, strings.Replace(a, "linux-x86_64", "", 1)), CodeDescriptorInvalid, provider.CodeMalformedRuntime},
		{"unknown key", strings.Replace(good, "{", `{"x":1,`, 1), CodeDocumentInvalid, strictjson.CodeUnknownKey},
		{"repeated key", strings.Replace(good, "{", `{"catalog_version":"1",`, 1), CodeDocumentInvalid, strictjson.CodeDuplicateKey},
		{"trailing", good + " 1", CodeDocumentInvalid, strictjson.CodeTrailingData},
		{"null", "null", CodeDocumentInvalid, nil},
		{"empty", "", CodeDocumentInvalid, strictjson.CodeSyntax},
		{"no capabilities", strings.Replace(good, `"capabilities":[`+a+","+b+"]", `"capabilities":null`, 1), CodeDocumentInvalid, nil},
	}
	for _, key := range []string{"catalog_version", "policy_profile", "policy_digest", "capabilities"} {
		var members map[string]json.RawMessage
		if err := json.Unmarshal([]byte(good), &members); err != nil {
			t.Fatal(err)
		}
		delete(members, key)
		in, err := json.Marshal(members)
		if err != nil {
			t.Fatal(err)
		}
		tests = append(tests, struct {
			name, in string
			code     Code
			is       error
		}{"without " + key, string(in), CodeDocumentInvalid, nil})
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := ParseCatalog([]byte(tt.in))
			if tt.code == "" {
				if err != nil {
					t.Fatal(err)
				}
				catalogRoundTrip(t, c)
				return
			}
			wantCode(t, err, tt.code)
			if c != nil || (tt.is != nil && !errors.Is(err, tt.is)) {
				t.Errorf("got %v, %v, want %v", c, err, tt.is)
			}
		})
	}
}

func catalogRoundTrip(t testing.TB, c *Catalog) {
	t.Helper()
	printed, err := c.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	canonical, err := canonjson.Canonicalize(printed)
	if err != nil || !bytes.Equal(canonical, printed) {
		t.Fatalf("not canonical: %s, %v", printed, err)
	}
	again, err := ParseCatalog(printed)
	if err != nil || again.Digest() != c.Digest() {
		t.Fatalf("%s reads back as %v, %v", printed, again, err)
	}
}

// A catalog that nobody could read is not made. The descriptors are made by hand,
// since honest ones of this size take seconds.
func TestCatalogTooLarge(t *testing.T) {
	var big []Descriptor
	for _, id := range []string{"a.big", "b.big"} {
		d := descriptor(t, id)
		d.canonical = fmt.Appendf(nil, `{"padding":"%s"}`, strings.Repeat("x", strictjson.MaxBytes/2))
		big = append(big, d)
	}
	c, err := newCatalog("test", "DEFAULT", policy(t, ProfileDefault, Rules{}).Digest(), big)
	wantCode(t, err, CodeDocumentInvalid)
	if c != nil || !errors.Is(err, strictjson.CodeTooLarge) {
		t.Errorf("got %v, %v", c, err)
	}
}

func FuzzParseCatalog(f *testing.F) {
	full := catalogOf(f, descriptor(f, "a.demo"), descriptor(f, "b.demo")).canonical
	f.Add(full)
	f.Add(catalogOf(f).canonical)
	f.Add(bytes.ReplaceAll(full, []byte("b.demo"), []byte("a.demo")))
	f.Add(bytes.ReplaceAll(full, []byte("a.demo"), []byte("c.demo")))
	f.Fuzz(func(t *testing.T, in []byte) {
		c, err := ParseCatalog(in)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || c != nil {
				t.Fatalf("%v, %v", c, err)
			}
			return
		}
		catalogRoundTrip(t, c)
	})
}
