package strictjson

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	tests := []struct {
		name, in string
		want     error
	}{
		{"object", `{"a":1,"b":[true,null,"x"]}`, nil},
		{"scalar with space", " 1 \n", nil},
		{"depth at the limit", deep(64), nil},
		{"depth over the limit", deep(65), CodeTooDeep},
		{"repeated key", `{"a":1,"a":2}`, CodeDuplicateKey},
		{"repeated after unescaping", `{"a":1,"\u0061":2}`, CodeDuplicateKey},
		{"repeated below", `[{"x":{"a":1,"a":2}}]`, CodeDuplicateKey},
		{"key as a value is no key", `{"a":"a","b":["a","a"]}`, nil},
		{"case", `{"name":1,"Name":2}`, CodeFoldedKey},
		{"Kelvin sign", `{"k":1,"\u212a":2}`, CodeFoldedKey},
		{"long s", `{"s":1,"ſ":2}`, CodeFoldedKey},
		{"sharp s folds to two letters", `{"ss":1,"ß":2}`, CodeFoldedKey},
		{"same key in siblings", `[{"a":1},{"A":1}]`, nil},
		{"trailing value", `{} {}`, CodeTrailingData},
		{"trailing junk", `{} x`, CodeTrailingData},
		{"byte-order mark", "\ufeff{}", CodeByteOrderMark},
		{"invalid UTF-8", "{\"a\":\"\xff\"}", CodeInvalidUTF8},
		{"lone surrogate", `{"a":"\ud800"}`, CodeInvalidUTF8},
		{"surrogate pair", `{"a":"\ud83d\ude00"}`, nil},
		{"NaN", `{"a":NaN}`, CodeSyntax},
		{"Infinity", `[Infinity]`, CodeSyntax},
		{"empty", ``, CodeSyntax},
		{"cut", `{"a":`, CodeSyntax},
		{"trailing comma", `[1,]`, CodeSyntax},
		{"comment", `{/**/}`, CodeSyntax},
		{"too large", `"` + strings.Repeat("x", MaxBytes) + `"`, CodeTooLarge},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := Check([]byte(tt.in))
			if !errors.Is(err, tt.want) {
				t.Fatalf("Check(%.60q) = %v, want %v", tt.in, err, tt.want)
			}
		})
	}
}

func TestDecode(t *testing.T) {
	type inner struct {
		Digest string `json:"executable_digest"`
	}
	type record struct {
		Version string `json:"version"`
		Inner   inner  `json:"inner"`
	}
	tests := []struct {
		name, in, nearest string
		want              error
	}{
		{"good", `{"version":"1","inner":{"executable_digest":"x"}}`, "", nil},
		{"unknown", `{"verson":"1"}`, "version", CodeUnknownKey},
		{"case", `{"Version":"1"}`, "version", CodeUnknownKey},
		{"unknown below", `{"inner":{"executable_digst":"1"}}`, "executable_digest", CodeUnknownKey},
		{"unlike anything", `{"zzzzzzzzzzzz":"1"}`, "", CodeUnknownKey},
		{"wrong type", `{"version":1}`, "", CodeWrongType},
		{"array", `[]`, "", CodeWrongType},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			kept := record{Version: "kept"}
			out := kept
			err := Decode([]byte(tt.in), &out)
			if !errors.Is(err, tt.want) {
				t.Fatalf("got %v, want %v", err, tt.want)
			}
			if err != nil && out != kept {
				t.Errorf("out changed on error: %+v", out)
			}
			var e *Error
			if errors.As(err, &e) && e.Nearest != tt.nearest {
				t.Errorf("nearest = %q, want %q (%v)", e.Nearest, tt.nearest, err)
			}
		})
	}
}

func TestErrorNamesPlace(t *testing.T) {
	err := Check([]byte(`{"a":{"b":1,"b":2}}`))
	var e *Error
	if !errors.As(err, &e) || e.Pointer != "/a/b" || e.Key != "b" || e.Offset == 0 {
		t.Fatalf("got %#v", e)
	}
}

func FuzzCheck(f *testing.F) {
	for _, s := range []string{`{"a":1}`, `{"a":1,"A":2}`, `[`, "\ufeff1", `"\ud800"`, `1 2`, `{"a":[{"b":null}]}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		// Whatever is accepted, the standard library's lenient parser accepts too.
		if Check(data) == nil && !json.Valid(data) {
			t.Fatalf("accepted what encoding/json refuses: %q", data)
		}
	})
}
