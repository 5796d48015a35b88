package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Formats of a result.
const (
	formatJSON = "json"
	formatText = "text"
)

// print writes a result to standard output: v as indented JSON, or what text
// makes. Nothing is written before all of it is there.
func (s *session) print(v any, text func(*strings.Builder)) error {
	if s.format == formatText {
		var b strings.Builder
		text(&b)
		return s.write([]byte(b.String()))
	}
	data, err := encode(v, "  ")
	if err != nil {
		return &commandError{Code: codeInternal, Message: err.Error(), exit: exitUnfinished, err: err}
	}
	return s.write(data)
}

// encode makes one JSON value and a line's end. Unlike json.Marshal it leaves <,
// > and & as they are: people read it, and it is no part of a web page.
func encode(v any, indent string) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	err := e.Encode(v)
	return out.Bytes(), err
}

// write is the one place that fills standard output. A full disk or a closed
// pipe is a failure: half a record must not pass for one.
func (s *session) write(data []byte) error {
	if _, err := s.stdout.Write(data); err != nil {
		return outputFailed(err)
	}
	return nil
}

func outputFailed(err error) error {
	return &commandError{Code: codeOutputFailed, Message: "standard output: " + err.Error(), exit: exitUnfinished, err: err}
}

// note writes one line to standard error beside the result: a warning or a
// finding. In JSON mode it is an object of its own, so that standard error can
// be read line by line.
func (s *session) note(kind, message string) {
	if s.format == formatText {
		fmt.Fprintf(s.stderr, "%s: %s\n", kind, escape(message))
		return
	}
	type body struct {
		Message string `json:"message"`
	}
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	// A map of strings always has a form in JSON.
	_ = encoder.Encode(map[string]body{kind: {strings.ToValidUTF8(message, "\ufffd")}})
	_, _ = s.stderr.Write(line.Bytes())
}

// Kinds of notes.
const (
	noteWarning = "warning"
	noteFinding = "finding"
)

// errorDocument is what standard error carries in JSON mode.
type errorDocument struct {
	Error errorBody `json:"error"`
}

type errorBody struct {
	Code    string  `json:"code"`
	Reason  *string `json:"reason"`
	Message string  `json:"message"`
	Hint    *string `json:"hint"`
	Path    *string `json:"path"`
}

// report prints a failure on standard error and returns its exit status.
func (s *session) report(err error) int {
	e := asCommandError(err)
	if s.format == formatText {
		fmt.Fprintf(s.stderr, "%s: %s: %s\n", programName, e.Code, escape(e.Message))
		if e.Path != "" && !strings.Contains(e.Message, e.Path) {
			fmt.Fprintf(s.stderr, "  path: %s\n", escape(e.Path))
		}
		if e.Hint != "" {
			fmt.Fprintf(s.stderr, "  hint: %s\n", escape(e.Hint))
		}
		return e.exit
	}
	optional := func(text string) *string {
		if text == "" {
			return nil
		}
		text = strings.ToValidUTF8(text, "\ufffd")
		return &text
	}
	data, marshalErr := encode(errorDocument{errorBody{
		Code: e.Code.Error(), Reason: optional(e.Reason), Message: strings.ToValidUTF8(e.Message, "\ufffd"),
		Hint: optional(e.Hint), Path: optional(e.Path),
	}}, "")
	if marshalErr != nil {
		fmt.Fprintf(s.stderr, "%s: %v\n", programName, marshalErr)
		return exitUnfinished
	}
	fmt.Fprintf(s.stderr, "%s", data)
	return e.exit
}

// escape makes text from outside safe for a terminal: control and invisible
// formatting characters, bytes that are not UTF-8 among them, are spelt out, so
// that a file's name can't move the cursor, colour or reverse what is read.
func escape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == ' ' || unicode.IsGraphic(r) && !unicode.Is(unicode.Zs, r):
			b.WriteRune(r)
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u{%x}`, r)
		}
		i += n
	}
	return b.String()
}
