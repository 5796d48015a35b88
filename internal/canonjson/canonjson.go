// Package canonjson prints JSON in the one form that digests are computed over:
// RFC 8785 (JCS) applied after every string, member names included, has been
// normalised to Unicode NFC.
//
// Only integers are accepted as numbers, within ±(2^53−1), so that a record
// prints the same in every language; JCS itself would print a float the way
// ECMAScript does, and two measuring hosts may disagree about its last digit.
package canonjson

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/opencontainers/go-digest"
	"golang.org/x/text/unicode/norm"

	"github.com/provider-measure/provider-measure/internal/strictjson"
)

// Code names a reason of refusal beside those of package strictjson.
type Code string

func (c Code) Error() string { return string(c) }

// CodeNotInteger: a number has a fraction or an exponent, or lies outside
// ±(2^53−1).
const CodeNotInteger Code = "json.not_integer"

// maxSafeInteger is the largest integer that an IEEE double holds exactly
// together with its neighbours: ECMAScript's Number.MAX_SAFE_INTEGER.
const maxSafeInteger = 1<<53 - 1

// Canonicalize returns the canonical form of one JSON value. The input obeys
// the rules of [strictjson.Check]; two member names that become equal under NFC
// are refused as repeated.
func Canonicalize(data []byte) ([]byte, error) {
	if err := strictjson.Check(data); err != nil {
		return nil, err
	}
	normal, err := normalise(data)
	if err != nil {
		return nil, err
	}
	value := jsontext.Value(normal)
	if err := value.Canonicalize(); err != nil {
		return nil, fmt.Errorf("canonical JSON: %w", err)
	}
	return value, nil
}

// Marshal prints v as JSON and canonicalises it.
func Marshal(v any) ([]byte, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("canonical JSON: %w", err)
	}
	return Canonicalize(data)
}

// Digest returns sha256 over the canonical form of v.
func Digest(v any) (digest.Digest, error) {
	data, err := Marshal(v)
	if err != nil {
		return "", err
	}
	return digest.FromBytes(data), nil
}

// normalise copies data token by token, with strings in NFC and numbers checked.
func normalise(data []byte) ([]byte, error) {
	in := jsontext.NewDecoder(bytes.NewReader(data))
	var out bytes.Buffer
	enc := jsontext.NewEncoder(&out)
	for in.PeekKind() != 0 {
		tok, err := in.ReadToken()
		if err != nil {
			return nil, fmt.Errorf("canonical JSON: %w", err)
		}
		switch tok.Kind() {
		case '"':
			tok = jsontext.String(norm.NFC.String(tok.String()))
		case '0':
			if tok, err = integer(tok.String()); err != nil {
				return nil, fmt.Errorf("canonical JSON at %s: %w", in.StackPointer(), err)
			}
		}
		if err := enc.WriteToken(tok); err != nil {
			return nil, fmt.Errorf("canonical JSON: %w", err)
		}
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// integer accepts the literals that are integers by value and spelling. A
// literal such as 1.0 or 1e3 is a float to the contract, whatever its value.
func integer(literal string) (jsontext.Token, error) {
	n, err := strconv.ParseInt(literal, 10, 64)
	if err != nil || n > maxSafeInteger || n < -maxSafeInteger {
		return jsontext.Token{}, fmt.Errorf("%w: %.64s", CodeNotInteger, literal)
	}
	return jsontext.Int(n), nil
}
