package stricttoml

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"
)

type probe struct {
	Argv []string       `toml:"argv"`
	Set  map[string]any `toml:"set"`
}

type file struct {
	Name         string           `toml:"name"`
	TimeoutMS    int64            `toml:"timeout_ms"`
	A            int64            `toml:"a"`
	Probes       map[string]probe `toml:"probes"`
	Capabilities []struct {
		ID       string `toml:"id"`
		Examples []struct {
			Name  string `toml:"name"`
			Input any    `toml:"input"`
		} `toml:"examples"`
	} `toml:"capabilities"`
}

func TestInputs(t *testing.T) {
	tests := []struct {
		name         string
		code         Code
		line, column int
		key, nearest string
	}{
		{"typo", CodeUnknownKey, 2, 1, "timout_ms", "timeout_ms"},
		{"dup", CodeDuplicateKey, 2, 1, "a", ""},
		{"case-dup", CodeFoldedKey, 2, 1, "Name", "name"},
		{"badutf8", CodeInvalidUTF8, 1, 4, "", ""},
		{"bigint", CodeWrongType, 1, 14, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("..", "..", "testdata", "inputs", "toml", tt.name+".toml"))
			if err != nil {
				t.Fatal(err)
			}
			_, err = Decode(data, new(file))
			check(t, err, tt.code, tt.line, tt.column, tt.key, tt.nearest)
		})
	}
}

func check(t *testing.T, err error, code Code, line, column int, key, near string) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want an *Error", err)
	}
	got := *e
	got.Err = nil
	if code == CodeWrongType || code == CodeSyntax {
		got.Key = ""
	}
	if diff := cmp.Diff(Error{Code: code, Line: line, Column: column, Key: key, Nearest: near}, got); diff != "" {
		t.Errorf("%v: -want +got\n%s", err, diff)
	}
}

func TestDecodeRefuses(t *testing.T) {
	tests := []struct {
		name, in     string
		code         Code
		line, column int
		key, nearest string
	}{
		{"case of a known key", "Name = 'x'", CodeUnknownKey, 1, 1, "Name", "name"},
		{"unknown table", "[probs]\n", CodeUnknownKey, 1, 2, "probs", "probes"},
		{"unknown in a table of a map", "[probes.health]\nargw = []", CodeUnknownKey, 2, 1, "probes.health.argw", "argv"},
		{"unknown in an array table", "[[capabilities]]\nid='a'\n[[capabilities]]\nidd='b'", CodeUnknownKey, 4, 1, "capabilities.1.idd", "id"},
		{"unknown in a nested array table", "[[capabilities]]\n[[capabilities.examples]]\nnam='b'", CodeUnknownKey, 3, 1, "capabilities.0.examples.0.nam", "name"},
		{"unknown in an inline table", "probes = { health = { argv = [], stdn = '' } }", CodeUnknownKey, 1, 34, "probes.health.stdn", ""},
		{"unknown in an inline table of an array", "capabilities = [{id='a'},\n {di='b'}]", CodeUnknownKey, 2, 3, "capabilities.1.di", "id"},
		{"repeated in an inline table", "probes = { a = {argv=[], argv=[]} }", CodeDuplicateKey, 1, 26, "probes.a.argv", ""},
		{"repeated dotted", "[probes]\na.argv=[]\na.argv=[]", CodeDuplicateKey, 3, 3, "probes.a.argv", ""},
		{"table twice", "[probes.a]\n[probes.b]\n[probes.a]", CodeDuplicateKey, 3, 9, "probes.a", ""},
		{"case twins in free keys", "[probes.a.set]\nK='1'\nk='2'", CodeFoldedKey, 3, 1, "probes.a.set.k", "K"},
		{"repeated as a dotted key", "[probes]\na.argv=[]\n[probes.a]\nset={}", CodeDuplicateKey, 3, 2, "probes.a", ""},
		{"inline table gone on with", "probes={a={argv=[]}}\n[probes.b]\nargv=[]", CodeDuplicateKey, 2, 2, "probes.b", ""},
		{"list gone on with", "capabilities=[]\n[[capabilities]]\nid='a'", CodeDuplicateKey, 2, 3, "capabilities", ""},
		{"value of a table", "[probes.a.set]\nx.y=1\nx=2", CodeDuplicateKey, 3, 1, "x", ""},
		{"type", "a = 'x'", CodeWrongType, 1, 5, "", ""},
		{"float for integer", "a = 1.5", CodeWrongType, 1, 5, "", ""},
		{"table for scalar", "[name]\nx=1", CodeWrongType, 2, 1, "", ""},
		{"no value", "a =", CodeSyntax, 1, 3, "", ""},
		{"open string", "name = 'x", CodeSyntax, 1, 9, "", ""},
		{"byte-order mark", "\ufeffa=1", CodeByteOrderMark, 1, 1, "", ""},
		{"deep", "[probes.a.set]\nx = " + strings.Repeat("[", 70) + strings.Repeat("]", 70), CodeTooDeep, 2, 1, "", ""},
		{"deep by dots", "[probes.a.set]\n" + strings.Repeat("a.", 200) + "a=1", CodeTooDeep, 2, 251, "", ""},
		{"deep beyond reason", "[probes.a.set]\nx = " + strings.Repeat("[", 500000), CodeSyntax, 2, 10005, "", ""},
		{"large", "name = '" + strings.Repeat("x", MaxBytes) + "'", CodeTooLarge, 0, 0, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out := file{Name: "kept"}
			_, err := Decode([]byte(tt.in), &out)
			var e *Error
			if errors.As(err, &e) && tt.code == CodeTooDeep {
				e.Key = ""
			}
			check(t, err, tt.code, tt.line, tt.column, tt.key, tt.nearest)
			if out.Name != "kept" || out.Probes != nil {
				t.Errorf("out changed on error: %+v", out)
			}
		})
	}
}

// A dot in a key is not a table.
func TestDottedNames(t *testing.T) {
	var out file
	_, err := Decode([]byte("[probes.a.set]\n\"x.y\"=1\nX=3\n[probes.a.set.x]\ny=2\n"), &out)
	var e *Error
	if !errors.As(err, &e) || e.Code != CodeFoldedKey {
		t.Errorf("x and X: %v", err)
	}
	if _, err = Decode([]byte("[probes.a.set]\n\"x.y\"=1\n\"x\\u0000y\"=1\n[probes.a.set.x]\ny=2\n"), &out); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"x.y": int64(1), "x\x00y": int64(1), "x": map[string]any{"y": int64(2)}}
	if diff := cmp.Diff(want, out.Probes["a"].Set); diff != "" {
		t.Error(diff)
	}
}

// The types of a mismatch are named in TOML's words.
func TestMismatchIsReadable(t *testing.T) {
	for in, want := range map[string]string{
		"[[capabilities]]\nid=1": "is a TOML integer, and not a string", "a = 'x'": "is a TOML string, and not a whole number",
		"a = 1.5": "", "[probes.a]\nargv = 'x'": "list", "[probes.a]\nargv = [1]": "string",
	} {
		_, err := Decode([]byte(in), new(file))
		if !errors.Is(err, CodeWrongType) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "struct {") {
			t.Errorf("%q: %v", in, err)
		}
	}
}

func TestPositions(t *testing.T) {
	in := "name = 'x'\n[probes.health]\n  argv = ['a']\n[[capabilities]]\nid = 'a'\n[[capabilities.examples]]\ninput = { n = 1 }\n[[capabilities]]\nid = 'b'\n"
	var out file
	got, err := Decode([]byte(in), &out)
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]Position{
		"name": {1, 1}, "probes.health": {2, 9}, "probes.health.argv": {3, 3}, "capabilities.0.id": {5, 1},
		"capabilities.0.examples.0.input.n": {7, 11}, "capabilities.1.id": {9, 1},
	} {
		if got[key] != want {
			t.Errorf("%s at %v, want %v", key, got[key], want)
		}
	}
	if len(out.Capabilities) != 2 || out.Capabilities[1].ID != "b" {
		t.Errorf("decoded %+v", out)
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{"name='x'", "a=1\na=2", "[probes.x]\nargv=['a']\nset={K=1}", "[[capabilities]]\nid='a'\n[[capabilities.examples]]\ninput=[{a=1}]", "a = 9223372036854775808", "\"na\\u006de\" = 'x'"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var out file
		_, err := Decode(data, &out)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("error without a code: %v", err)
			}
			return
		}
		// What is accepted prints and reads back as the same value.
		printed, err := toml.Marshal(out)
		if err != nil {
			return // the printer has no form for this value
		}
		var again file
		if _, err := Decode(printed, &again); err != nil {
			t.Fatalf("%q printed as %q: %v", data, printed, err)
		}
	})
}
