// Package strictjson reads JSON the one way that this project's records allow.
//
// Refused, each with its own [Code] and a byte offset: input over 10 MiB, a
// byte-order mark, invalid UTF-8 or lone surrogates, nesting deeper than 64, a
// repeated member name (after unescaping), names that differ only by case or
// Unicode folding, anything after the value, and whatever RFC 8259 does not
// allow (NaN and Infinity among it). [Decode] also refuses unknown members.
package strictjson

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/text/cases"
)

// Code names one reason of refusal; codes never change.
type Code string

func (c Code) Error() string { return string(c) }

// Reasons of refusal.
const (
	CodeTooLarge      Code = "json.too_large"
	CodeByteOrderMark Code = "json.byte_order_mark"
	CodeInvalidUTF8   Code = "json.invalid_utf8"
	CodeSyntax        Code = "json.syntax"
	CodeTooDeep       Code = "json.too_deep"
	CodeDuplicateKey  Code = "json.duplicate_key"
	CodeFoldedKey     Code = "json.folded_key"
	CodeTrailingData  Code = "json.trailing_data"
	CodeUnknownKey    Code = "json.unknown_key"
	CodeWrongType     Code = "json.wrong_type"
)

const (
	// MaxBytes bounds the input before anything is parsed: the largest
	// legitimate record, a composite of a few hundred components, is below 1 MiB.
	MaxBytes = 10 << 20
	// MaxDepth bounds nesting; a record has a depth of about ten.
	MaxDepth = 64
)

// Error says what was refused and where.
type Error struct {
	Code    Code
	Offset  int64  // bytes before the offending place
	Pointer string // RFC 6901 pointer to the member, "" at the root
	Key     string // the offending member name, when the code is about one
	Nearest string // the closest known member name, for CodeUnknownKey
	Err     error  // the parser's own words, may be nil
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s at byte %d", e.Code, e.Offset)
	if e.Pointer != "" {
		fmt.Fprintf(&b, " (%s)", e.Pointer)
	}
	if e.Key != "" {
		fmt.Fprintf(&b, ": %q", e.Key)
	}
	if e.Nearest != "" {
		fmt.Fprintf(&b, "; did you mean %q?", e.Nearest)
	}
	if e.Err != nil && e.Key == "" {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	return b.String()
}

// Unwrap gives the code, then the cause.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Code}
	}
	return []error{e.Code, e.Err}
}

// Check reports whether data is one JSON value by the rules of the package.
func Check(data []byte) error {
	if len(data) > MaxBytes {
		return &Error{Code: CodeTooLarge, Err: fmt.Errorf("%d bytes, at most %d", len(data), MaxBytes)}
	}
	if bytes.HasPrefix(data, []byte("\ufeff")) {
		return &Error{Code: CodeByteOrderMark}
	}
	if at := invalidUTF8(data); at >= 0 {
		return &Error{Code: CodeInvalidUTF8, Offset: int64(at)}
	}
	// Repeated names are left to the loop below, which knows their spelling.
	dec := jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowDuplicateNames(true))
	if err := checkTokens(dec); err != nil {
		return err
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return &Error{Code: CodeTrailingData, Offset: dec.InputOffset()}
	}
	return nil
}

// checkTokens walks one value.
func checkTokens(dec *jsontext.Decoder) error {
	var names []map[string]string // for each open object: folded name to spelling
	fold := cases.Fold()
	for {
		isName := nextIsName(dec)
		tok, err := dec.ReadToken()
		if err != nil {
			return syntaxError(dec, err)
		}
		switch tok.Kind() {
		case '{':
			names = append(names, map[string]string{})
		case '[':
			names = append(names, nil)
		case '}', ']':
			names = names[:len(names)-1]
		case '"':
			if isName {
				if err := checkName(dec, names[len(names)-1], fold.String(tok.String()), tok.String()); err != nil {
					return err
				}
			}
		}
		if len(names) > MaxDepth {
			return &Error{Code: CodeTooDeep, Offset: dec.InputOffset(), Err: fmt.Errorf("nesting over %d", MaxDepth)}
		}
		if len(names) == 0 {
			return nil
		}
	}
}

// nextIsName reports whether the next string is a member name: in an object,
// with an even number of tokens read so far.
func nextIsName(dec *jsontext.Decoder) bool {
	kind, n := dec.StackIndex(dec.StackDepth())
	return kind == '{' && n%2 == 0
}

func checkName(dec *jsontext.Decoder, seen map[string]string, folded, name string) error {
	before, ok := seen[folded]
	seen[folded] = name
	if !ok {
		return nil
	}
	e := &Error{Code: CodeFoldedKey, Offset: dec.InputOffset(), Pointer: string(dec.StackPointer()), Key: name}
	if before == name {
		e.Code = CodeDuplicateKey
	}
	return e
}

func syntaxError(dec *jsontext.Decoder, err error) error {
	e := &Error{Code: CodeSyntax, Offset: dec.InputOffset(), Pointer: string(dec.StackPointer()), Err: err}
	var syntactic *jsontext.SyntacticError
	if errors.As(err, &syntactic) {
		e.Offset, e.Pointer = syntactic.ByteOffset, string(syntactic.JSONPointer)
		if strings.Contains(syntactic.Err.Error(), "surrogate") || strings.Contains(syntactic.Err.Error(), "UTF-8") {
			e.Code = CodeInvalidUTF8
		}
	}
	if errors.Is(err, io.EOF) {
		e.Err = io.ErrUnexpectedEOF
	}
	return e
}

func invalidUTF8(data []byte) int {
	for i := 0; i < len(data); {
		if data[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

// Decode checks data and stores it in the value that out points to, which is
// left alone on error. Members that the type does not have are refused with the
// nearest name that it has.
func Decode[T any](data []byte, out *T) error {
	if err := Check(data); err != nil {
		return err
	}
	var value T
	err := json.Unmarshal(data, &value, json.RejectUnknownMembers(true))
	if err == nil {
		*out = value
		return nil
	}
	e := &Error{Code: CodeWrongType, Err: err}
	var semantic *json.SemanticError
	if errors.As(err, &semantic) {
		e.Offset, e.Pointer = semantic.ByteOffset, string(semantic.JSONPointer)
		if errors.Is(semantic.Err, json.ErrUnknownName) {
			e.Code = CodeUnknownKey
			e.Key = jsontext.Pointer(semantic.JSONPointer).LastToken()
			e.Nearest = nearestField(semantic.GoType, e.Key)
		}
	}
	return e
}
