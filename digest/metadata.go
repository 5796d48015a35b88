package digest

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

const opMetadata = "metadata"

// maxMetadataBytes bounds METADATA, which holds the long description.
const maxMetadataBytes = 16 << 20

// Metadata is what METADATA or PKG-INFO says about identity and licence.
type Metadata struct {
	MetadataVersion    string   `json:"metadata_version,omitempty"`
	Name               string   `json:"name"`
	Version            string   `json:"version"`
	License            string   `json:"license,omitempty"`             // free text, before PEP 639
	LicenseExpression  string   `json:"license_expression,omitempty"`  // SPDX, PEP 639
	LicenseFiles       []string `json:"license_files,omitempty"`       // License-File, as written
	LicenseClassifiers []string `json:"license_classifiers,omitempty"` // "License :: …"
}

// ParseMetadata reads the headers of METADATA or PKG-INFO: "Key: value" lines up
// to the first blank line, where a line that starts with a space or tab goes on
// with the value before it, and case of keys doesn't matter. As in Python's
// reader, a line that is neither ends the headers. What follows them is the
// description and isn't looked at.
//
// It fails with [CodeMetadataMalformed] when the headers aren't UTF-8 or hold
// NUL, or when Name or Version is missing, empty, repeated or impossible.
func ParseMetadata(data []byte) (Metadata, error) {
	if len(data) > maxMetadataBytes {
		return Metadata{}, fail(CodeTooLarge, opMetadata, "", "%d bytes, at most %d are read", len(data), maxMetadataBytes)
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	var md Metadata
	var seen metadataSeen
	for line := 1; len(data) > 0; {
		start := line
		var raw []byte
		raw, data = cutHeaderLine(data)
		line++
		if len(raw) == 0 {
			break
		}
		key, value, ok := splitHeader(raw)
		if !ok {
			break
		}
		for len(data) > 0 && (data[0] == ' ' || data[0] == '\t') {
			raw, data = cutHeaderLine(data)
			line++
			value = append(append(value, '\n'), bytes.TrimSpace(raw)...)
		}
		if !utf8.Valid(value) {
			return Metadata{}, badHeader(start, key+" is not UTF-8")
		}
		if bytes.IndexByte(value, 0) >= 0 {
			return Metadata{}, badHeader(start, key+" holds NUL")
		}
		if why := md.set(key, strings.TrimSpace(string(value)), &seen); why != "" {
			return Metadata{}, badHeader(start, why)
		}
	}
	if md.Name == "" {
		return Metadata{}, fail(CodeMetadataMalformed, opMetadata, "", "no Name")
	}
	if md.Version == "" {
		return Metadata{}, fail(CodeMetadataMalformed, opMetadata, "", "no Version")
	}
	return md, nil
}

func badHeader(line int, why string) *Error {
	return &Error{Code: CodeMetadataMalformed, Op: opMetadata, Line: line, Detail: why}
}

// cutHeaderLine ends lines at LF, CRLF and CR.
func cutHeaderLine(data []byte) (line, rest []byte) {
	i := bytes.IndexAny(data, "\r\n")
	switch {
	case i < 0:
		return data, nil
	case data[i] == '\r' && i+1 < len(data) && data[i+1] == '\n':
		return data[:i], data[i+2:]
	default:
		return data[:i], data[i+1:]
	}
}

// splitHeader returns the lower-case key and a copy of the value. A key is
// printable ASCII without a space.
func splitHeader(line []byte) (key string, value []byte, ok bool) {
	k, v, ok := bytes.Cut(line, []byte(":"))
	if !ok || len(k) == 0 {
		return "", nil, false
	}
	for _, c := range k {
		if c <= ' ' || c >= 0x7f {
			return "", nil, false
		}
	}
	return strings.ToLower(string(k)), bytes.Clone(bytes.TrimSpace(v)), true
}

type metadataSeen struct{ name, version, expression bool }

// maxVersion is the limit of the runtime record.
const maxVersion = 128

func (m *Metadata) set(key, value string, seen *metadataSeen) (why string) {
	switch key {
	case "name":
		if seen.name {
			return "Name is given twice"
		}
		seen.name = true
		if _, err := NormalizeName(value); err != nil {
			return "Name is not a distribution name"
		}
		m.Name = value
	case "version":
		if seen.version {
			return "Version is given twice"
		}
		seen.version = true
		if value == "" || len(value) > maxVersion || strings.ContainsAny(value, " \t\n/\\") {
			return "Version is empty, too long or holds spaces or slashes"
		}
		m.Version = value
	case "metadata-version":
		m.MetadataVersion = value
	case "license":
		m.License = value
	case "license-expression":
		if seen.expression {
			return "License-Expression is given twice"
		}
		seen.expression = true
		m.LicenseExpression = value
	case "license-file":
		m.LicenseFiles = append(m.LicenseFiles, value)
	case "classifier":
		if strings.HasPrefix(value, "License ::") {
			m.LicenseClassifiers = append(m.LicenseClassifiers, value)
		}
	}
	return ""
}
