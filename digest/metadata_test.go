package digest

import (
	"bytes"
	"errors"
	"net/mail"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseMetadata(t *testing.T) {
	tests := []struct {
		name, in string
		want     Metadata
		wantErr  Code
		line     int
	}{
		{name: "plain", in: meta("a", "1"), want: Metadata{MetadataVersion: "2.1", Name: "a", Version: "1"}},
		{name: "case and CRLF", in: "NAME:a\r\nversion : 1\r\nVersion: 2\r\n\r\nName: b", want: Metadata{Name: "a", Version: "2"}, wantErr: CodeMetadataMalformed},
		{name: "CRLF", in: "NAME:a\r\nversion:  1 \r\n\r\nName: b", want: Metadata{Name: "a", Version: "1"}},
		{
			name: "licences", in: meta("a", "1") + "License-Expression: MIT OR BSD-3-Clause\nLicense-File: LICENSE\nLicense-File: docs/COPYING\n" +
				"Classifier: License :: OSI Approved :: MIT License\nClassifier: Topic :: X\nLicense: long\n        text\n",
			want: Metadata{
				MetadataVersion: "2.1", Name: "a", Version: "1", License: "long\ntext", LicenseExpression: "MIT OR BSD-3-Clause",
				LicenseFiles: []string{"LICENSE", "docs/COPYING"}, LicenseClassifiers: []string{"License :: OSI Approved :: MIT License"},
			},
		},
		{name: "body", in: meta("a", "1") + "\nName: other\n\xff\x00", want: Metadata{MetadataVersion: "2.1", Name: "a", Version: "1"}},
		{name: "stray line ends headers", in: meta("a", "1") + "stray\nName: other\n", want: Metadata{MetadataVersion: "2.1", Name: "a", Version: "1"}},
		{name: "BOM", in: "\ufeff" + meta("a", "1"), want: Metadata{MetadataVersion: "2.1", Name: "a", Version: "1"}},
		{name: "empty", in: "", wantErr: CodeMetadataMalformed},
		{name: "no name", in: "Version: 1\n", wantErr: CodeMetadataMalformed},
		{name: "no version", in: "Name: a\n", wantErr: CodeMetadataMalformed},
		{name: "two names", in: "Name: a\nName: a\nVersion: 1", wantErr: CodeMetadataMalformed, line: 2},
		{name: "two versions", in: "Name: a\nVersion: 1\nVersion: 1", wantErr: CodeMetadataMalformed, line: 3},
		{name: "bad name", in: "Name: a/b\nVersion: 1", wantErr: CodeMetadataMalformed, line: 1},
		{name: "bad version", in: "Name: a\nVersion: ../1", wantErr: CodeMetadataMalformed, line: 2},
		{name: "name over lines", in: "Name: a\n b\nVersion: 1", wantErr: CodeMetadataMalformed, line: 1},
		{name: "not UTF-8", in: "Name: a\nVersion: 1\nAuthor: \xff\n", wantErr: CodeMetadataMalformed, line: 3},
		{name: "NUL", in: "Name: a\nVersion: 1\nAuthor: \x00\n", wantErr: CodeMetadataMalformed, line: 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			md, err := ParseMetadata([]byte(tt.in))
			if tt.wantErr != "" && tt.name != "case and CRLF" {
				var e *Error
				if !errors.Is(err, tt.wantErr) || !errors.As(err, &e) || e.Line != tt.line {
					t.Fatalf("got %+v, %v; want %s in line %d", md, err, tt.wantErr, tt.line)
				}
				if diff := cmp.Diff(Metadata{}, md); diff != "" {
					t.Error("not the zero value:", diff)
				}
				return
			}
			if err != nil && tt.wantErr == "" {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, md); diff != "" && tt.wantErr == "" {
				t.Error(diff)
			}
		})
	}
	if _, err := ParseMetadata(make([]byte, maxMetadataBytes+1)); !errors.Is(err, CodeTooLarge) {
		t.Errorf("got %v", err)
	}
}

// Where net/mail, an independent reader of such headers, accepts the input too,
// both must see one Name and Version.
func FuzzParseMetadata(f *testing.F) {
	for _, s := range []string{
		meta("demo-pkg", "1.0"), "Name: a\r\nVersion: 1\r\n\r\nbody", "Name: a\nVersion: 1\nLicense: x\n  y\n\tz\n\n",
		"Name: a\nName: b\nVersion: 1\n", "\ufeffName: a\nVersion: 1\n", ": x\n", "Name\n", "Name: a\rVersion: 1\r",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		md, err := ParseMetadata(data)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || !cmp.Equal(md, Metadata{}) {
				t.Fatalf("%q: %+v, %v", data, md, err)
			}
			return
		}
		if _, err := NormalizeName(md.Name); err != nil || md.Version == "" {
			t.Fatalf("%q: accepted as %+v", data, md)
		}
		again, err := ParseMetadata([]byte("Name: " + md.Name + "\nVersion: " + md.Version + "\n"))
		if err != nil || again.Name != md.Name || again.Version != md.Version {
			t.Fatalf("%q: printed and parsed: %+v, %v", data, again, err)
		}
		if bytes.ContainsAny(data, "\r") || !bytes.Contains(data, []byte("\n\n")) {
			return // net/mail has rules of its own for these
		}
		msg, err := mail.ReadMessage(bytes.NewReader(data))
		if err != nil {
			return
		}
		if n := strings.TrimSpace(msg.Header.Get("Name")); n != md.Name {
			t.Fatalf("%q: name %q, net/mail has %q", data, md.Name, n)
		}
		if v := strings.TrimSpace(msg.Header.Get("Version")); v != md.Version {
			t.Fatalf("%q: version %q, net/mail has %q", data, md.Version, v)
		}
	})
}

func TestLicenseFiles(t *testing.T) {
	const di = "p-1.dist-info"
	rec := &Record{}
	for _, p := range []string{
		di + "/licenses/LICENSE", di + "/licenses/any.py", di + "/license.py", di + "/LICENSE.txt", di + "/license_files/X", di + "/OWNERS", di + "/METADATA",
		"p/COPYING", "p/Notice.md", "p/license_server.py", "p/license.py", "p/LICENSE.json", "p/licenses.txt", "p/AUTHORS.rst", "p/licence",
		"../LICENSE", "/LICENSE", "p/../LICENSE", "p\\LICENSE", "p/" + strings.Repeat("x", 300) + "/LICENSE", "p/COPYING", "p/LICENSE.", "licenses/README",
	} {
		rec.Rows = append(rec.Rows, Row{Path: p})
	}
	want := []string{
		di + "/LICENSE.txt", di + "/OWNERS", di + "/license_files/X", di + "/licenses/LICENSE", di + "/licenses/any.py",
		"p/AUTHORS.rst", "p/COPYING", "p/Notice.md", "p/licence",
	}
	got := licenseFiles(rec, di, Metadata{LicenseFiles: []string{"X", "sub/OWNERS", "../METADATA", "license.py", ""}})
	// ../METADATA leads out, though its base name is a row.
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
