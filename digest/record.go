package digest

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	godigest "github.com/opencontainers/go-digest"
)

const opRecord = "record"

const (
	// maxRecordBytes bounds RECORD: the largest wheels have some 30 000 files,
	// which is 4 MiB.
	maxRecordBytes = 64 << 20
	// maxField is the limit of Python's csv reader, in characters.
	maxField = 131072
	// maxSizeDigits is the limit of Python's int().
	maxSizeDigits = 4300
)

// Row is one row of RECORD.
type Row struct {
	Line int `json:"line"` // from 1
	// Path is normalised: no empty or . part and no trailing slash; .. and a
	// leading / are kept.
	Path string `json:"path"`
	// Hashed is false when the hash column is empty or absent. Otherwise
	// Algorithm is the text before the first = and Hash the text after it.
	Hashed    bool   `json:"hashed"`
	Algorithm string `json:"algorithm,omitempty"`
	Hash      string `json:"hash,omitempty"`
	// Size is the size column in decimal, "" when empty or absent. It may be
	// larger than any integer type.
	Size string `json:"size,omitempty"`
}

// Record is a parsed RECORD.
type Record struct {
	Rows []Row // in file order, duplicates included
}

// ParseRecord reads the RECORD of an installed distribution.
//
// The format is that of Python's importlib.metadata: UTF-8 without a byte-order
// mark; lines end at LF, CR, CRLF, VT, FF, FS, GS, RS, NEL, U+2028 or U+2029;
// each line is CSV with comma and double quote, where a quote counts only at the
// start of a field and text after a closing quote is kept. Columns are path,
// hash and size, the last two optional.
//
// It fails with [CodeRecordMalformed] and the line for a blank line, more than
// three columns, a quote that is not closed, NUL, a field above 131072
// characters, a path that names nothing, and a size that isn't a whole number;
// with [CodeRecordEmpty] when there is no row, [CodeRecordNoHash] when no row
// has a hash, and [CodeTooLarge] above 64 MiB.
func ParseRecord(data []byte) (*Record, error) {
	if len(data) > maxRecordBytes {
		return nil, fail(CodeTooLarge, opRecord, "", "%d bytes, at most %d are read", len(data), maxRecordBytes)
	}
	if bytes.HasPrefix(data, []byte("\xef\xbb\xbf")) {
		return nil, badRow(1, "starts with a byte-order mark")
	}
	rec := &Record{}
	hashed := false
	for line := 1; len(data) > 0; line++ {
		var text []byte
		text, data = cutLine(data)
		row, why := parseRow(text)
		if why != "" {
			return nil, badRow(line, why)
		}
		row.Line = line
		hashed = hashed || row.Hashed
		rec.Rows = append(rec.Rows, row)
	}
	if len(rec.Rows) == 0 {
		return nil, fail(CodeRecordEmpty, opRecord, "", "RECORD has no rows")
	}
	if !hashed {
		return nil, fail(CodeRecordNoHash, opRecord, "", "none of the %d rows of RECORD has a hash", len(rec.Rows))
	}
	return rec, nil
}

func badRow(line int, why string) *Error {
	return &Error{Code: CodeRecordMalformed, Op: opRecord, Line: line, Detail: why}
}

// cutLine returns the first line without its end, and what follows.
func cutLine(data []byte) (line, rest []byte) {
	for i, b := range data {
		switch b {
		case '\n', '\v', '\f', 0x1c, 0x1d, 0x1e:
			return data[:i], data[i+1:]
		case '\r':
			if i+1 < len(data) && data[i+1] == '\n' {
				return data[:i], data[i+2:]
			}
			return data[:i], data[i+1:]
		case 0xc2: // U+0085
			if bytes.HasPrefix(data[i:], []byte("\u0085")) {
				return data[:i], data[i+2:]
			}
		case 0xe2: // U+2028, U+2029
			if bytes.HasPrefix(data[i:], []byte("\u2028")) || bytes.HasPrefix(data[i:], []byte("\u2029")) {
				return data[:i], data[i+3:]
			}
		}
	}
	return data, nil
}

func parseRow(text []byte) (row Row, why string) {
	if len(text) == 0 {
		return Row{}, "is blank"
	}
	if !utf8.Valid(text) {
		return Row{}, "is not UTF-8"
	}
	fields, why := splitFields(string(text))
	if why != "" {
		return Row{}, why
	}
	if len(fields) > 3 {
		return Row{}, "has more than the three columns path, hash, size; a comma in a path must be quoted"
	}
	if row.Path, why = recordPath(fields[0]); why != "" {
		return Row{}, why
	}
	if len(fields) > 1 && fields[1] != "" {
		row.Hashed = true
		row.Algorithm, row.Hash, _ = strings.Cut(fields[1], "=")
	}
	if len(fields) > 2 && fields[2] != "" {
		if row.Size, why = recordSize(fields[2]); why != "" {
			return Row{}, why
		}
	}
	return row, ""
}

// splitFields is Python's csv.reader for one line in its default dialect, but
// that a quote must be closed on its line.
func splitFields(line string) (fields []string, why string) {
	if strings.IndexByte(line, 0) >= 0 {
		return nil, "holds NUL"
	}
	for {
		var field string
		var more bool
		if strings.HasPrefix(line, `"`) {
			var closed bool
			if field, line, more, closed = quotedField(line[1:]); !closed {
				return nil, "has a quote that is not closed"
			}
		} else {
			field, line, more = strings.Cut(line, ",")
		}
		if len(field) > maxField && utf8.RuneCountInString(field) > maxField {
			return nil, "has a field of more than 131072 characters"
		}
		fields = append(fields, field)
		if !more {
			return fields, ""
		}
		if len(fields) > 3 {
			return fields, "" // too many already
		}
	}
}

// quotedField reads a field after its opening quote. What follows the closing
// quote up to the comma belongs to the field, quotes included.
func quotedField(s string) (field, rest string, more, closed bool) {
	var b strings.Builder
	for {
		i := strings.IndexByte(s, '"')
		if i < 0 {
			return "", "", false, false
		}
		b.WriteString(s[:i])
		s = s[i+1:]
		if !strings.HasPrefix(s, `"`) {
			break
		}
		b.WriteByte('"')
		s = s[1:]
	}
	tail, rest, more := strings.Cut(s, ",")
	b.WriteString(tail)
	return b.String(), rest, more, true
}

// recordPath normalises as POSIX does. Exactly two leading slashes stay two:
// POSIX gives them a meaning of their own, and Python keeps them.
func recordPath(p string) (norm, why string) {
	if p == "" {
		return "", "has an empty path"
	}
	lead := ""
	switch {
	case strings.HasPrefix(p, "//") && !strings.HasPrefix(p, "///"):
		lead = "//"
	case strings.HasPrefix(p, "/"):
		lead = "/"
	}
	var b strings.Builder
	b.Grow(len(p))
	b.WriteString(lead)
	first := true
	for part := range strings.SplitSeq(p, "/") {
		if part == "" || part == "." {
			continue
		}
		if !first {
			b.WriteByte('/')
		}
		first = false
		b.WriteString(part)
	}
	if b.Len() == 0 {
		return "", "has a path that names nothing"
	}
	return b.String(), ""
}

// recordSize reads what Python's int() reads of ASCII, but for negative numbers,
// and prints it again in decimal. Of the characters that int() takes for spaces,
// only these two don't end a line.
func recordSize(s string) (decimal, why string) {
	t := strings.TrimPrefix(strings.Trim(s, " \t"), "+")
	digits := make([]byte, 0, len(t))
	under := true // an underscore is allowed only between digits
	for i := range len(t) {
		switch c := t[i]; {
		case c >= '0' && c <= '9':
			digits = append(digits, c)
			under = false
		case c == '_' && !under:
			under = true
		case c == '-' && i == 0:
			return "", "has a negative size"
		default:
			return "", "has a size that is not a whole number"
		}
	}
	if under {
		return "", "has a size that is not a whole number"
	}
	if len(digits) > maxSizeDigits {
		return "", "has a size of more than 4300 digits"
	}
	d := strings.TrimLeft(string(digits), "0")
	return cmp.Or(d, "0"), ""
}

// Digest returns the PYTHON_DISTRIBUTION_RECORD digest: SHA-256 over, for each
// row in byte order of path, rows of one path in file order,
//
//	path NUL hash NUL size LF
//
// where hash is "-" or the algorithm, a colon and the value, and size is "-" or
// decimal. It covers all rows, of absent files too, and no file's bytes.
func (r *Record) Digest() godigest.Digest {
	rows := slices.Clone(r.Rows)
	slices.SortStableFunc(rows, func(a, b Row) int { return strings.Compare(a.Path, b.Path) })
	h := sha256.New()
	var line []byte
	for _, row := range rows {
		line = append(append(line[:0], row.Path...), 0)
		line = append(append(line, row.hashText()...), 0)
		line = append(append(line, cmp.Or(row.Size, "-")...), '\n')
		h.Write(line)
	}
	return sum(h)
}

func (r Row) hashText() string {
	if !r.Hashed {
		return "-"
	}
	return r.Algorithm + ":" + r.Hash
}

// Conflicts returns the pairs of rows that name one file and don't agree on its
// hash or size: no file can be both. Paths are compared after resolving .. by
// text. The answer doesn't depend on the order of the rows: pairs are sorted by
// path, and each row is paired with the first of its path in order of hash and
// size.
func (r *Record) Conflicts() [][2]Row {
	rows := slices.Clone(r.Rows)
	slices.SortStableFunc(rows, func(a, b Row) int {
		return cmp.Or(strings.Compare(path.Clean(a.Path), path.Clean(b.Path)),
			strings.Compare(a.hashText(), b.hashText()), strings.Compare(a.Size, b.Size))
	})
	var out [][2]Row
	for i := 0; i < len(rows); {
		j := i + 1
		for ; j < len(rows) && path.Clean(rows[j].Path) == path.Clean(rows[i].Path); j++ {
			same := rows[j].hashText() == rows[j-1].hashText() && rows[j].Size == rows[j-1].Size
			if !same {
				out = append(out, [2]Row{rows[i], rows[j]})
			}
		}
		i = j
	}
	return out
}
