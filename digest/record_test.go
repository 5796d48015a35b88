package digest

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestParseRecord(t *testing.T) {
	const h = ",sha256=x"
	tests := []struct {
		name, in string
		want     []Row
		wantErr  Code
		line     int
	}{
		{name: "one", in: "a" + h + ",3", want: []Row{{1, "a", true, "sha256", "x", "3"}}},
		{name: "all line ends", in: "a" + h + "\rb\r\nc\vd\fe\x1cf\x1dg\x1eh\u0085i\u2028j\u2029k\n", want: []Row{
			{1, "a", true, "sha256", "x", ""},
			{Line: 2, Path: "b"},
			{Line: 3, Path: "c"},
			{Line: 4, Path: "d"},
			{Line: 5, Path: "e"},
			{Line: 6, Path: "f"},
			{Line: 7, Path: "g"},
			{Line: 8, Path: "h"},
			{Line: 9, Path: "i"},
			{Line: 10, Path: "j"},
			{Line: 11, Path: "k"},
		}},
		{name: "quotes", in: `"a,b"` + h + "\n" + `"say ""hi"""` + "\n" + `a"b"c` + "\n" + `"a"b"c",,` + "\n" + `"",,`, wantErr: CodeRecordMalformed, line: 5},
		{name: "text after quote", in: `"a"b"c"` + h, want: []Row{{1, `ab"c"`, true, "sha256", "x", ""}}},
		{name: "paths", in: ".//a/./b/" + h + "\n/x//y\n../../b/../c\n//two\n///three", want: []Row{
			{1, "a/b", true, "sha256", "x", ""}, {Line: 2, Path: "/x/y"}, {Line: 3, Path: "../../b/../c"}, {Line: 4, Path: "//two"}, {Line: 5, Path: "/three"},
		}},
		{name: "sizes", in: "a" + h + ", +1_000 \nb,,007\nc,,0\nd,,000\ne,,123456789012345678901234567890", want: []Row{
			{1, "a", true, "sha256", "x", "1000"},
			{Line: 2, Path: "b", Size: "7"},
			{Line: 3, Path: "c", Size: "0"},
			{Line: 4, Path: "d", Size: "0"},
			{Line: 5, Path: "e", Size: "123456789012345678901234567890"},
		}},
		{name: "no =", in: "a,sha256,1", want: []Row{{1, "a", true, "sha256", "", "1"}}},
		{name: "two =", in: "a,x=y=z,1", want: []Row{{1, "a", true, "x", "y=z", "1"}}},
		{name: "nothing", in: "", wantErr: CodeRecordEmpty},
		{name: "no hash", in: "a\nb,,1\n", wantErr: CodeRecordNoHash},
		{name: "blank first", in: "\na" + h, wantErr: CodeRecordMalformed, line: 1},
		{name: "blank last", in: "a" + h + "\n\n", wantErr: CodeRecordMalformed, line: 2},
		{name: "CR LF CR is a blank line", in: "a" + h + "\r\n\rb", wantErr: CodeRecordMalformed, line: 2},
		{name: "four", in: "a" + h + ",1,", wantErr: CodeRecordMalformed, line: 1},
		{name: "open quote", in: "b\n\"a" + h, wantErr: CodeRecordMalformed, line: 2},
		{name: "quote over lines", in: "\"a\nb\"" + h, wantErr: CodeRecordMalformed, line: 1},
		{name: "NUL", in: "a\x00" + h, wantErr: CodeRecordMalformed, line: 1},
		{name: "BOM", in: "\ufeffa" + h, wantErr: CodeRecordMalformed, line: 1},
		{name: "not UTF-8", in: "a" + h + "\n\xff", wantErr: CodeRecordMalformed, line: 2},
		{name: "surrogate", in: "\xed\xa0\x80" + h, wantErr: CodeRecordMalformed, line: 1},
		{name: "dot", in: "./" + h, wantErr: CodeRecordMalformed, line: 1},
		{name: "root", in: "/" + h, want: []Row{{1, "/", true, "sha256", "x", ""}}},
		{name: "negative", in: "a,,-1", wantErr: CodeRecordMalformed, line: 1},
		{name: "float", in: "a,,1.0", wantErr: CodeRecordMalformed, line: 1},
		{name: "hex size", in: "a,,0x1", wantErr: CodeRecordMalformed, line: 1},
		{name: "US isn't a space to int", in: "a,,1\x1f", wantErr: CodeRecordMalformed, line: 1},
		{name: "blank size", in: "a,, ", wantErr: CodeRecordMalformed, line: 1},
		{name: "underscores", in: "a,,1__0", wantErr: CodeRecordMalformed, line: 1},
		{name: "last underscore", in: "a,,1_", wantErr: CodeRecordMalformed, line: 1},
		{name: "first underscore", in: "a,,_1", wantErr: CodeRecordMalformed, line: 1},
		{name: "two signs", in: "a,,++1", wantErr: CodeRecordMalformed, line: 1},
		{name: "endless size", in: "a,," + strings.Repeat("1", maxSizeDigits+1), wantErr: CodeRecordMalformed, line: 1},
		{name: "endless field", in: strings.Repeat("a", maxField+1) + h, wantErr: CodeRecordMalformed, line: 1},
		{name: "longest field", in: strings.Repeat("é", maxField) + h, want: []Row{{1, strings.Repeat("é", maxField), true, "sha256", "x", ""}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rec, err := ParseRecord([]byte(tt.in))
			if tt.wantErr != "" {
				var e *Error
				if !errors.Is(err, tt.wantErr) || !errors.As(err, &e) || e.Line != tt.line || rec != nil {
					t.Fatalf("got %v, %v; want %s in line %d", rec, err, tt.wantErr, tt.line)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, rec.Rows); diff != "" {
				t.Error(diff)
			}
		})
	}
	if _, err := ParseRecord(make([]byte, maxRecordBytes+1)); !errors.Is(err, CodeTooLarge) {
		t.Errorf("got %v", err)
	}
}

func TestConflicts(t *testing.T) {
	rows := []string{"a,sha256=1,1", "a,sha256=2,1", "./a,sha256=1,1", "x/../a,sha256=1,2", "b,sha256=1,1", "b,sha256=1,01", "c,,", "c,sha256=3"}
	var want [][2]Row
	for i := range 24 {
		slices.SortFunc(rows, func(a, b string) int {
			x, y := sha256.Sum256([]byte(a+fmt.Sprint(i))), sha256.Sum256([]byte(b+fmt.Sprint(i)))
			return bytes.Compare(x[:], y[:])
		})
		rec, err := ParseRecord([]byte(strings.Join(rows, "\n")))
		if err != nil {
			t.Fatal(err)
		}
		got := rec.Conflicts()
		for j := range got {
			got[j][0].Line, got[j][1].Line = 0, 0
			got[j][0].Path, got[j][1].Path = "", "" // spelling of equal rows may vary
		}
		if i == 0 {
			want = got
			if len(got) != 3 {
				t.Fatalf("%d conflicts: %v", len(got), got)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal("depends on the order of rows:", diff)
		}
	}
}

// recordOracle computes the RECORD digest in another way: regular expressions
// and a state machine over runes instead of cuts. ok is false where ParseRecord
// must refuse.
func recordOracle(data []byte) (digest string, ok bool) {
	if !utf8.Valid(data) || bytes.HasPrefix(data, []byte("\ufeff")) || bytes.IndexByte(data, 0) >= 0 {
		return "", false
	}
	text := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(data))
	lines := regexp.MustCompile("[\n\v\f\x1c\x1d\x1e\u0085\u2028\u2029]").Split(text, -1)
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	type triple struct{ path, hash, size string }
	var rows []triple
	hashed := false
	for _, line := range lines {
		fields, ok := csvOracle(line)
		if !ok || line == "" || len(fields) > 3 {
			return "", false
		}
		fields = append(fields, "", "")
		row := triple{pathOracle(fields[0]), "-", "-"}
		if row.path == "" {
			return "", false
		}
		if f := fields[1]; f != "" {
			hashed = true
			if m := regexp.MustCompile(`(?s)^([^=]*)=(.*)$`).FindStringSubmatch(f); m != nil {
				row.hash = m[1] + ":" + m[2]
			} else {
				row.hash = f + ":"
			}
		}
		if f := fields[2]; f != "" {
			m := regexp.MustCompile(`^[ \t]*\+?([0-9]+(?:_[0-9]+)*)[ \t]*$`).FindStringSubmatch(f)
			if m == nil {
				return "", false
			}
			n, good := new(big.Int).SetString(strings.ReplaceAll(m[1], "_", ""), 10)
			if !good || len(strings.ReplaceAll(m[1], "_", "")) > 4300 {
				return "", false
			}
			row.size = n.String()
		}
		rows = append(rows, row)
	}
	if !hashed {
		return "", false
	}
	slices.SortStableFunc(rows, func(a, b triple) int { return bytes.Compare([]byte(a.path), []byte(b.path)) })
	var pre strings.Builder
	for _, r := range rows {
		pre.WriteString(r.path + "\x00" + r.hash + "\x00" + r.size + "\n")
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(pre.String()))), true
}

// csvOracle is the state machine of Python's _csv.c.
func csvOracle(line string) (fields []string, ok bool) {
	const (
		start = iota
		plain
		quoted
		quoteInQuoted
	)
	state, field := start, []rune{}
	save := func() { fields, field, state = append(fields, string(field)), field[:0], start }
	for _, c := range line {
		switch {
		case state == start && c == '"':
			state = quoted
		case state == quoted && c == '"':
			state = quoteInQuoted
		case state == quoted:
			field = append(field, c)
		case state == quoteInQuoted && c == '"':
			field, state = append(field, c), quoted
		case c == ',':
			save()
		default:
			field, state = append(field, c), plain
		}
		if len(field) > 131072 {
			return nil, false
		}
	}
	if state == quoted {
		return nil, false
	}
	save()
	return fields, true
}

// pathOracle normalises with regular expressions.
func pathOracle(p string) string {
	lead := regexp.MustCompile(`^/*`).FindString(p)
	if len(lead) != 2 && len(lead) > 0 {
		lead = "/"
	}
	var parts []string
	for _, m := range regexp.MustCompile(`[^/]+`).FindAllString(p, -1) {
		if m != "." {
			parts = append(parts, m)
		}
	}
	return lead + strings.Join(parts, "/")
}

func FuzzParseRecord(f *testing.F) {
	seeds := []string{
		"a,sha256=x,3\n", "a\r\nb,x=y\r", `"a,b",sha256=x,1` + "\n" + `"say ""hi""",,`, "./a//b/,md5=1,+0_1\n../x,,", "\n", "",
		"\ufeffa,b=c", "a,b=c\u2028d\u0085e", `"open,a=b`, "a,b=c,1,2", "a,b=c,-1", "/abs,a=b\n//two,a=b", "a,b=c\x1c", `"a"b"c",=,`, "\xff,a=b", "a\x00,b=c", ".,a=b", "a,b=c, 1 ",
	}
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		rec, err := ParseRecord(data)
		want, ok := recordOracle(data)
		if (err == nil) != ok {
			t.Fatalf("%q: error %v, the oracle accepts: %v", data, err, ok)
		}
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || rec != nil || !strings.HasPrefix(string(e.Code), "digest.record_") {
				t.Fatalf("%q: %v, %v", data, rec, err)
			}
			return
		}
		if got := rec.Digest().String(); got != want {
			t.Fatalf("%q: %s, want %s", data, got, want)
		}
		again, err := ParseRecord([]byte(printRecord(rec)))
		if err != nil {
			t.Fatalf("%q: printed, it is refused: %v", data, err)
		}
		for i := range again.Rows {
			again.Rows[i].Line = rec.Rows[i].Line
		}
		if diff := cmp.Diff(rec.Rows, again.Rows); diff != "" {
			t.Fatalf("%q: printed and parsed: %s", data, diff)
		}
		rec.Conflicts()
	})
}

// printRecord writes rows with every field quoted.
func printRecord(r *Record) string {
	q := func(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }
	var b strings.Builder
	for _, row := range r.Rows {
		hash := ""
		if row.Hashed {
			hash = row.Algorithm + "=" + row.Hash
		}
		b.WriteString(q(row.Path) + "," + q(hash) + "," + q(row.Size) + "\n")
	}
	return b.String()
}
