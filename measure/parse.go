package measure

import (
	"bytes"
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/provider-measure/provider-measure/internal/strictjson"
)

// ParseRecord reads one record strictly: nothing but the known keys, every one
// of them present, null only where a value may be absent, and all rules of
// [Record.Validate]. The failure is [CodeRecordMalformed] or
// [CodeRecordInvalid]; the cause tells what and where.
func ParseRecord(data []byte) (*Record, error) {
	const op = "read record"
	var r Record
	if err := strictjson.Decode(data, &r); err != nil {
		return nil, &Error{Code: CodeRecordMalformed, Op: op, Err: err}
	}
	if err := r.Validate(); err != nil {
		return nil, err
	}
	if err := complete(data, &r); err != nil {
		return nil, asInvalid(CodeRecordMalformed, op, err)
	}
	return &r, nil
}

// complete compares what was read with what would be printed. They differ where
// a key is missing, since all are always printed, where null stands for an empty
// list, and where a value has a second spelling.
func complete(data []byte, r *Record) error {
	printed, err := json.Marshal(r)
	if err != nil {
		return err
	}
	var read, want any
	if err := json.Unmarshal(data, &read); err != nil {
		return err
	}
	if err := json.Unmarshal(printed, &want); err != nil {
		return err
	}
	if at, what := difference("", read, want); what != "" {
		return &Error{Code: CodeRecordMalformed, Op: "read record", Path: at, Err: fmt.Errorf("%s", what)}
	}
	return nil
}

// difference returns the pointer of the first place where two decoded JSON
// values differ, and how.
func difference(at string, read, want any) (pointer, what string) {
	switch w := want.(type) {
	case map[string]any:
		r, ok := read.(map[string]any)
		if !ok {
			return at, "is no object"
		}
		return objectDifference(at, r, w)
	case []any:
		r, ok := read.([]any)
		if !ok || len(r) != len(w) {
			return at, "is not the list that it must be"
		}
		for i := range w {
			if p, s := difference(at+"/"+strconv.Itoa(i), r[i], w[i]); s != "" {
				return p, s
			}
		}
		return "", ""
	}
	if read != want {
		return at, "is not in its one spelling"
	}
	return "", ""
}

func objectDifference(at string, read, want map[string]any) (pointer, what string) {
	keys := make([]string, 0, len(want))
	for key := range want {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	for _, key := range keys {
		p := at + "/" + strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1") // RFC 6901
		value, ok := read[key]
		if !ok {
			return p, "is missing"
		}
		if p, s := difference(p, value, want[key]); s != "" {
			return p, s
		}
	}
	if len(read) != len(want) {
		return at, "has keys that are not kept"
	}
	return "", ""
}

// JSON prints a record on one line that ends with a newline, with its keys in
// the order of the type.
func (r *Record) JSON() ([]byte, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	data, err := json.Marshal(r, json.Deterministic(true))
	if err != nil {
		return nil, asInvalid(CodeRecordInvalid, "print record", err)
	}
	return append(bytes.TrimSpace(data), '\n'), nil
}

// Indented prints a record for people.
func (r *Record) Indented() ([]byte, error) {
	data, err := r.JSON()
	if err != nil {
		return nil, err
	}
	value := jsontext.Value(data)
	if err := value.Indent(jsontext.WithIndent("  ")); err != nil {
		return nil, asInvalid(CodeRecordInvalid, "print record", err)
	}
	return append(bytes.TrimSpace(value), '\n'), nil
}
