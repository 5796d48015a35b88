package canonjson

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/gowebpki/jcs"

	"github.com/provider-measure/provider-measure/internal/strictjson"
)

func TestCanonicalize(t *testing.T) {
	tests := []struct {
		name, in, want string
		wantErr        error
	}{
		{"sorted by UTF-16 units", `{"\uff21":1,"\ud83d\ude00":2,"a":3}`, "{\"a\":3,\"\U0001f600\":2,\"\uff21\":1}", nil},
		{"space and escapes", " { \"a\" : \"\\u0041\\n\" } ", `{"a":"A\n"}`, nil},
		{"NFC in names and values", "{\"cafe\u0301\":\"e\u0301\"}", `{"café":"é"}`, nil},
		{"names equal under NFC", "{\"caf\u00e9\":1,\"cafe\u0301\":2}", "", nil},
		{"largest integer", `[9007199254740991,-9007199254740991]`, `[9007199254740991,-9007199254740991]`, nil},
		{"over the largest", `[9007199254740992]`, "", CodeNotInteger},
		{"float", `[1.5]`, "", CodeNotInteger},
		{"float that is whole", `[1.0]`, "", CodeNotInteger},
		{"exponent", `[1e3]`, "", CodeNotInteger},
		{"negative zero", `[-0]`, `[0]`, nil},
		{"repeated", `{"a":1,"a":2}`, "", strictjson.CodeDuplicateKey},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Canonicalize([]byte(tt.in))
			if tt.want == "" {
				if err == nil || (tt.wantErr != nil && !errors.Is(err, tt.wantErr)) {
					t.Fatalf("got %s, %v, want error %v", got, err, tt.wantErr)
				}
				return
			}
			if err != nil || string(got) != tt.want {
				t.Fatalf("got %s, %v, want %s", got, err, tt.want)
			}
		})
	}
}

// golden is the part of the golden vectors that hangs on canonical JSON alone.
type golden struct {
	Derived struct {
		CheckerID []struct {
			ID       string          `json:"checker_id"`
			Identity json.RawMessage `json:"identity"`
		} `json:"checker_id_v1"`
		Composite struct {
			Components json.RawMessage `json:"components"`
			Preimage   string          `json:"preimage"`
			Digest     string          `json:"digest"`
		} `json:"composite_runtime"`
		Environment []struct {
			Digest   string          `json:"digest"`
			Identity json.RawMessage `json:"identity"`
		} `json:"environment_digest"`
		Policy []struct {
			Definition json.RawMessage `json:"definition"`
			Digest     string          `json:"digest"`
		} `json:"policy"`
	} `json:"derived"`
}

func TestGoldenVectors(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "testdata", "vectors", "golden.json"))
	if err != nil {
		t.Fatal(err)
	}
	var g golden
	if err := json.Unmarshal(data, &g); err != nil {
		t.Fatal(err)
	}
	canonical := func(in json.RawMessage) []byte {
		t.Helper()
		out, err := Canonicalize(in)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	sum := func(prefix string, in []byte) string {
		s := sha256.Sum256(append([]byte(prefix), in...))
		return hex.EncodeToString(s[:])
	}
	d := g.Derived
	if len(d.CheckerID) == 0 || len(d.Environment) == 0 || len(d.Policy) == 0 {
		t.Fatal("golden.json lacks its derived vectors")
	}
	for _, v := range d.CheckerID {
		if got := "checker://sha256/" + sum("jacobian.checker.v1\x00", canonical(v.Identity)); got != v.ID {
			t.Errorf("checker ID %s, want %s", got, v.ID)
		}
	}
	for _, v := range d.Environment {
		if got := "sha256:" + sum("", canonical(v.Identity)); got != v.Digest {
			t.Errorf("environment digest %s, want %s", got, v.Digest)
		}
	}
	for _, v := range d.Policy {
		if got := "sha256:" + sum("", canonical(v.Definition)); got != v.Digest {
			t.Errorf("policy digest %s, want %s", got, v.Digest)
		}
	}
	if got := canonical(d.Composite.Components); string(got) != d.Composite.Preimage {
		t.Errorf("composite preimage\n%s\nwant\n%s", got, d.Composite.Preimage)
	} else if s := "sha256:" + sum("", got); s != d.Composite.Digest {
		t.Errorf("composite digest %s, want %s", s, d.Composite.Digest)
	}
}

func FuzzCanonicalize(f *testing.F) {
	for _, s := range []string{`{"b":1,"a":[null,true,"é"]}`, `"\ud83d\ude00"`, `-0`, `{"e\u0301":"\u2028"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := Canonicalize(data)
		if err != nil {
			if got != nil {
				t.Fatal("output beside an error")
			}
			return
		}
		again, err := Canonicalize(got)
		if err != nil || !bytes.Equal(again, got) {
			t.Fatalf("not a fixed point: %q then %q, %v", got, again, err)
		}
		// An implementation by others agrees on what is already normalised.
		if peer, err := jcs.Transform(got); err == nil && !bytes.Equal(peer, got) {
			t.Fatalf("peer prints %q, we print %q", peer, got)
		}
	})
}
