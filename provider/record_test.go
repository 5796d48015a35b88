package provider

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	godigest "github.com/opencontainers/go-digest"

	"github.com/provider-measure/provider-measure/digest"
	"github.com/provider-measure/provider-measure/internal/canonjson"
	"github.com/provider-measure/provider-measure/internal/strictjson"
	"github.com/provider-measure/provider-measure/internal/testenv"
)

func TestParseRuntime(t *testing.T) {
	for _, tt := range recordEdits() {
		t.Run(tt.name, func(t *testing.T) {
			data := encode(t, tt.record())
			rt, err := ParseRuntime(data)
			if tt.code != "" {
				if !errors.Is(err, tt.code) || !rt.IsZero() {
					t.Fatalf("got %+v, %v; want %s", rt.r, err, tt.code)
				}
				wantReason := ReasonRecordInvalid
				if tt.code == CodeIdentityIncomplete {
					wantReason = ReasonRecordIncomplete
				}
				want{code: tt.code, reason: wantReason}.check(t, err)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			printed, err := json.Marshal(rt)
			if err != nil {
				t.Fatal(err)
			}
			canonical, err := canonjson.Canonicalize(data)
			if err != nil || string(canonical) != string(printed) {
				t.Errorf("printed %s, want the canonical %s (%v)", printed, canonical, err)
			}
			var again Runtime
			if err := json.Unmarshal(printed, &again); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(rt.Record(), again.Record()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseRuntimeEveryKeyIsNeeded(t *testing.T) {
	keys := recordKeys()
	if len(keys) != 16 || reflect.TypeFor[Record]().NumField() != 16 {
		t.Fatalf("%d keys, %d fields", len(keys), reflect.TypeFor[Record]().NumField())
	}
	for _, key := range keys {
		m := sample("EXECUTABLE")
		delete(m, key)
		rt, err := ParseRuntime(encode(t, m))
		if !errors.Is(err, CodeMalformedRuntime) || !strings.Contains(err.Error(), key) || !rt.IsZero() {
			t.Errorf("without %s: %v", key, err)
		}
	}
}

func TestParseRuntimeText(t *testing.T) {
	good := string(encode(t, sample("EXECUTABLE")))
	for _, tt := range []struct {
		name, in string
		reason   error
	}{
		{"repeated key", `{"provider":"abc",` + good[1:], strictjson.CodeDuplicateKey},
		{"repeated after unescaping", `{"pro\u0076ider":"abc",` + good[1:], strictjson.CodeDuplicateKey},
		{"folded key", `{"Provider":"abc",` + good[1:], strictjson.CodeFoldedKey},
		{"trailing data", good + "{}", strictjson.CodeTrailingData},
		{"byte-order mark", "\ufeff" + good, strictjson.CodeByteOrderMark},
		{"invalid UTF-8", strings.Replace(good, "linux", "\xff", 1), strictjson.CodeInvalidUTF8},
		{"lone surrogate", strings.Replace(good, "linux", `\ud800`, 1), strictjson.CodeInvalidUTF8},
		{"NaN", strings.Replace(good, `"1.0"`, "NaN", 1), strictjson.CodeSyntax},
		{"list", "[" + good + "]", strictjson.CodeWrongType},
		{"null", "null", nil},
		{"empty", "", strictjson.CodeSyntax},
		{"too large", good + strings.Repeat(" ", strictjson.MaxBytes), strictjson.CodeTooLarge},
	} {
		rt, err := ParseRuntime([]byte(tt.in))
		if !errors.Is(err, CodeMalformedRuntime) || (tt.reason != nil && !errors.Is(err, tt.reason)) || !rt.IsZero() {
			t.Errorf("%s: got %v, want %v", tt.name, err, tt.reason)
		}
	}
	if _, err := ParseRuntime([]byte(good + "\n")); err != nil {
		t.Errorf("white space at the end: %v", err)
	}
}

// The record's own depth counts: what is within the limit alone may not be inside.
func TestConfigurationDepth(t *testing.T) {
	nested := func(n int) string {
		return `{"executable":"/a","x":` + strings.Repeat("[", n) + strings.Repeat("]", n) + "}"
	}
	record := Record{
		RuntimeVersion: "1", Provider: "abc", Availability: Unavailable, Platform: "p", InstallTier: T0, LicenseID: "MIT",
		Diagnostic: ptr("gone"),
	}
	for n, ok := range map[int]bool{62: true, 63: false, 64: false} {
		record.Configuration = []byte(nested(n))
		rt, err := NewRuntime(record)
		if ok != (err == nil) {
			t.Errorf("depth %d: %v", n, err)
		}
		if err == nil {
			if _, err := json.Marshal(rt); err != nil {
				t.Errorf("depth %d can't be printed: %v", n, err)
			}
		}
	}
}

func ptr[T any](v T) *T { return &v }

func TestNewRuntimeDiagnostic(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		length   int
		ends     string
	}{
		{"short", "é", 1, "é"},
		{"at the limit", repeated("é", 512), 512, "é"},
		{"long", repeated("é", 2000), 512, "é…"},
		{"long in bytes of four", repeated("\U0001f600", 513), 512, "\U0001f600…"},
		{"grows under NFC", repeated("\u0958", 512), 512, "…"},
		{"shrinks under NFC", repeated("e\u0301", 512), 512, "é"},
		{"invalid UTF-8", "a\xffb", 3, "b"},
	} {
		rt, err := NewRuntime(Record{
			RuntimeVersion: "1", Provider: "abc", Availability: Unavailable, Platform: "p", InstallTier: T0, LicenseID: "MIT", Diagnostic: &tt.in,
		})
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		got := rt.Diagnostic()
		if utf8.RuneCountInString(got) != tt.length || !strings.HasSuffix(got, tt.ends) || !utf8.ValidString(got) {
			t.Errorf("%s: %d characters: %q", tt.name, utf8.RuneCountInString(got), got)
		}
		printed, err := json.Marshal(rt)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := ParseRuntime(printed); err != nil || again.Diagnostic() != got {
			t.Errorf("%s: does not read back: %v", tt.name, err)
		}
	}
}

// Writing to what was given to NewRuntime, or to what Record returns, changes
// nothing.
func TestRuntimeIsImmutable(t *testing.T) {
	data := encode(t, sample("PYTHON_DISTRIBUTION_RECORD"))
	parsed, err := ParseRuntime(data)
	if err != nil {
		t.Fatal(err)
	}
	given := parsed.Record()
	given.Features, given.CheckerIDs = []string{"f"}, []string{"checker://sha256/" + repeated("0", 64)}
	given.LicenseFiles = []string{"LICENSE"}
	rt, err := NewRuntime(given)
	if err != nil {
		t.Fatal(err)
	}
	before := encode(t, rt)
	for _, r := range []Record{given, rt.Record()} {
		*r.Version, *r.Digest, *r.DigestKind, *r.ImportName = "9", "sha256:x", digest.SourceTree, "evil"
		r.Features[0], r.CheckerIDs[0], r.LicenseFiles[0], r.RequiredAttribs[0] = "g", "h", "i", "j"
		for i := range r.Configuration {
			r.Configuration[i] = 'x'
		}
		if after := encode(t, rt); string(after) != string(before) {
			t.Fatalf("changed to %s", after)
		}
	}
	printed := encode(t, rt)
	for i := range printed {
		printed[i] = 'x'
	}
	if after := encode(t, rt); string(after) != string(before) {
		t.Fatalf("changed to %s", after)
	}
}

func TestRuntimeAccessors(t *testing.T) {
	rt, err := ParseRuntime(encode(t, sample("EXECUTABLE")))
	if err != nil {
		t.Fatal(err)
	}
	if rt.Provider() != "tests.sample" || !rt.Available() || rt.Version() != "1.0" || rt.Digest() != godigest.Digest(sampleDigest) ||
		rt.Kind() != digest.ExecutableKind || rt.Diagnostic() != "" || rt.LicenseID() != "MIT" || rt.Tier() != T1 || rt.IsZero() {
		t.Errorf("got %+v", rt.r)
	}
	var zero Runtime
	if !zero.IsZero() || zero.Available() || zero.Digest() != "" || zero.Version() != "" || zero.Kind() != "" {
		t.Error("the zero value claims something")
	}
	if data, err := json.Marshal(zero); !errors.Is(err, CodeIdentityIncomplete) {
		t.Errorf("the zero value prints as %s, %v", data, err)
	}
	kept := rt
	if err := rt.UnmarshalJSON([]byte("{}")); !errors.Is(err, CodeMalformedRuntime) {
		t.Error(err)
	}
	if diff := cmp.Diff(kept.Record(), rt.Record()); diff != "" {
		t.Error("changed by a failed read:", diff)
	}
}

// goldenComposite is the composite of the golden vectors.
func goldenComposite(t testing.TB) (components []json.RawMessage, digest string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(testenv.RepoRoot(t), "testdata", "vectors", "golden.json"))
	if err != nil {
		t.Fatal(err)
	}
	var g struct {
		Derived struct {
			Composite struct {
				Components []json.RawMessage `json:"components"`
				Digest     string            `json:"digest"`
			} `json:"composite_runtime"`
		} `json:"derived"`
	}
	if err := json.Unmarshal(data, &g); err != nil {
		t.Fatal(err)
	}
	if len(g.Derived.Composite.Components) != 2 {
		t.Fatal("golden.json lacks its composite")
	}
	return g.Derived.Composite.Components, g.Derived.Composite.Digest
}

func TestGoldenComponents(t *testing.T) {
	components, want := goldenComposite(t)
	var printed [][]byte
	for _, raw := range components {
		rt, err := ParseRuntime(raw)
		if err != nil {
			t.Fatal(err)
		}
		printed = append(printed, encode(t, rt))
	}
	got, err := digest.Composite(printed)
	if err != nil || got.String() != want {
		t.Errorf("digest %s, %v; want %s", got, err, want)
	}
}

func FuzzParseRuntime(f *testing.F) {
	accepted := 0
	for _, e := range recordEdits() {
		data := encode(f, e.record())
		if _, err := ParseRuntime(data); err == nil {
			accepted++
		}
		f.Add(data)
	}
	components, _ := goldenComposite(f)
	for _, c := range components {
		f.Add([]byte(c))
	}
	if accepted < 10 {
		f.Fatalf("only %d seeds are records", accepted)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		rt, err := ParseRuntime(data)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || (e.Code != CodeMalformedRuntime && e.Code != CodeIdentityIncomplete) || !rt.IsZero() {
				t.Fatalf("%v beside %+v", err, rt.r)
			}
			return
		}
		printed, err := json.Marshal(rt)
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseRuntime(printed)
		if err != nil {
			t.Fatalf("%s: %v", printed, err)
		}
		if diff := cmp.Diff(rt.Record(), again.Record()); diff != "" {
			t.Fatal(diff)
		}
		if rt.Available() && (rt.Digest().Validate() != nil || rt.Version() == "" || rt.Kind() == "" || rt.Diagnostic() != "") {
			t.Fatalf("AVAILABLE with %s", printed)
		}
	})
}
