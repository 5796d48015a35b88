// Package stricttoml reads TOML 1.0 files written by people so that no mistake
// in one passes unseen.
//
// A key that the target does not have, in any spelling but its own, is refused
// with its line, column and the nearest known key; so are repeated keys, keys of
// one table that differ only by case, values of another type, integers outside
// 64 bits, invalid UTF-8 and a byte-order mark. The position of every key that
// was read is kept, so that a caller's own checks can say where a value stands.
package stricttoml

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
)

// Code names one reason of refusal; codes never change.
type Code string

func (c Code) Error() string { return string(c) }

// Reasons of refusal.
const (
	CodeTooLarge      Code = "toml.too_large"
	CodeByteOrderMark Code = "toml.byte_order_mark"
	CodeInvalidUTF8   Code = "toml.invalid_utf8"
	CodeSyntax        Code = "toml.syntax"
	CodeTooDeep       Code = "toml.too_deep"
	CodeUnknownKey    Code = "toml.unknown_key"
	CodeDuplicateKey  Code = "toml.duplicate_key"
	CodeFoldedKey     Code = "toml.folded_key"
	CodeWrongType     Code = "toml.wrong_type"
)

const (
	// MaxBytes bounds a file: a manifest with its examples is a few KiB.
	MaxBytes = 1 << 20
	// MaxDepth bounds nested arrays and inline tables, which recurse.
	MaxDepth = 64
)

// Position is a place in a file; both numbers count from 1, columns in bytes.
type Position struct{ Line, Column int }

// Positions maps the dotted path of each key that was read, with array elements
// as numbers ("capabilities.0.id"), to where it stands.
type Positions map[string]Position

// Of returns where the key at path stands or, when the file does not have it, the
// nearest key above it; the zero Position when there is none.
func (p Positions) Of(path string) Position {
	for {
		if at, ok := p[path]; ok {
			return at
		}
		i := strings.LastIndexByte(path, '.')
		if i < 0 {
			return Position{}
		}
		path = path[:i]
	}
}

// Error says what was refused and where.
type Error struct {
	Code    Code
	Line    int    // from 1; 0 when the whole file is meant
	Column  int    // from 1, in bytes
	Key     string // dotted path of the offending key, when there is one
	Nearest string // the closest known key, for CodeUnknownKey
	Err     error
}

func (e *Error) Error() string {
	var b strings.Builder
	if e.Line > 0 {
		fmt.Fprintf(&b, "line %d, column %d: ", e.Line, e.Column)
	}
	b.WriteString(string(e.Code))
	if e.Key != "" {
		fmt.Fprintf(&b, ": %s", e.Key)
	}
	if e.Nearest != "" {
		fmt.Fprintf(&b, "; did you mean %q?", e.Nearest)
	}
	if e.Err != nil {
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

// Decode reads data into the struct that out points to, which is left alone on
// error. Fields are named by their toml tags. A field of type any or map takes
// whatever keys the file gives.
func Decode[T any](data []byte, out *T) (Positions, error) {
	if err := checkBytes(data); err != nil {
		return nil, err
	}
	positions, err := checkKeys(data, *new(T))
	if err != nil {
		return nil, err
	}
	var value T
	dec := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields()
	if err := dec.Decode(&value); err != nil {
		return nil, decodeError(err)
	}
	*out = value
	return positions, nil
}

func checkBytes(data []byte) error {
	if len(data) > MaxBytes {
		return &Error{Code: CodeTooLarge, Err: fmt.Errorf("%d bytes, at most %d", len(data), MaxBytes)}
	}
	if bytes.HasPrefix(data, []byte("\ufeff")) {
		return &Error{Code: CodeByteOrderMark, Line: 1, Column: 1}
	}
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 {
			line, column := lineColumn(data, i)
			return &Error{Code: CodeInvalidUTF8, Line: line, Column: column, Err: fmt.Errorf("byte %#x", data[i])}
		}
		i += n
	}
	return nil
}

func lineColumn(data []byte, offset int) (line, column int) {
	before := data[:offset]
	return bytes.Count(before, []byte("\n")) + 1, offset - bytes.LastIndexByte(before, '\n')
}

// decodeError turns the parser's error into ours. What is left to it after the
// keys were checked is syntax and the types of values.
func decodeError(err error) error {
	var missing *toml.StrictMissingError
	if errors.As(err, &missing) && len(missing.Errors) > 0 {
		err = &missing.Errors[0]
	}
	e := &Error{Code: CodeWrongType, Err: err}
	var de *toml.DecodeError
	if errors.As(err, &de) {
		e.Line, e.Column = de.Position()
		e.Key = strings.Join(de.Key(), ".")
		text := de.Error()
		switch is, wanted := mismatch(text); {
		case is != "":
			e.Err = fmt.Errorf("is a TOML %s, and not a %s", is, wanted)
		case strings.Contains(text, "is already defined"), strings.Contains(text, "already exists"):
			e.Code = CodeDuplicateKey // of a table that was written in another form
		}
	}
	return e
}

// mismatch takes the two types out of the parser's message, whose wording of the
// wanted one is Go's.
func mismatch(text string) (is, wanted string) {
	_, rest, ok := strings.Cut(text, "cannot decode TOML ")
	is, _, found := strings.Cut(rest, " into ")
	i := strings.LastIndex(rest, " of type ")
	if !ok || !found || i < 0 {
		return "", ""
	}
	wanted = strings.TrimLeft(rest[i+len(" of type "):], "*")
	switch {
	case strings.HasPrefix(wanted, "int"):
		wanted = "whole number"
	case wanted == "bool":
		wanted = "boolean"
	case strings.HasPrefix(wanted, "[]"):
		wanted = "list"
	case wanted != "string":
		wanted = "table"
	}
	return is, wanted
}
