//go:build unix

package digest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"hash"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const opVerify = "verify"

// FileStatus is what rehashing found about one row of RECORD.
type FileStatus string

const (
	FileGood         FileStatus = "good"          // hash and size hold
	FileModified     FileStatus = "modified"      // the bytes are not the recorded ones
	FileSizeMismatch FileStatus = "size_mismatch" // the recorded size is wrong, and no hash says otherwise
	FileMissing      FileStatus = "missing"
	FileNotRegular   FileStatus = "not_regular"    // a link, directory or special file
	FileOutside      FileStatus = "outside"        // absolute or leading out; not opened
	FileUnhashed     FileStatus = "unhashed"       // RECORD itself, bytecode, or a row without a hash
	FileWeakHash     FileStatus = "weak_hash"      // an algorithm that proves nothing
	FileMalformed    FileStatus = "malformed_hash" // not URL-safe base64 of the right length
)

// VerifiedRow is the finding about one row.
type VerifiedRow struct {
	Row       Row        `json:"row"`
	Status    FileStatus `json:"status"`
	Algorithm string     `json:"algorithm,omitempty"` // that was recomputed
	Detail    string     `json:"detail,omitempty"`
	// LineEndingsOnly is set when a modified file would hold its hash with its
	// line ends written as LF, or as CRLF.
	LineEndingsOnly bool `json:"line_endings_only,omitempty"`
}

// Report is the finding about all rows of a RECORD.
type Report struct {
	Rows   []VerifiedRow      `json:"rows"` // in RECORD order
	Counts map[FileStatus]int `json:"counts"`
}

// Verified reports whether every row that RECORD gives a hash was rehashed and
// holds, and at least one was. Rows without a hash are allowed only for RECORD
// itself, its signatures, and bytecode.
func (r Report) Verified() bool {
	for _, row := range r.Rows {
		switch row.Status {
		case FileGood:
		case FileUnhashed:
			if !mayLackHash(row.Row) {
				return false
			}
		default:
			return false
		}
	}
	return r.Counts[FileGood] > 0
}

// Problems returns the rows that stand against Verified.
func (r Report) Problems() []VerifiedRow {
	var out []VerifiedRow
	for _, row := range r.Rows {
		if row.Status != FileGood && (row.Status != FileUnhashed || !mayLackHash(row.Row)) {
			out = append(out, row)
		}
	}
	return out
}

func mayLackHash(row Row) bool {
	dir, base := path.Split(row.Path)
	if strings.HasSuffix(dir, ".dist-info/") && strings.Count(dir, "/") == 1 {
		switch base {
		case "RECORD", "RECORD.jws", "RECORD.p7s":
			return true
		}
	}
	return isBytecodeRow(row)
}

// Verify reads every recorded file and compares it with its row. SHA-256,
// SHA-384 and SHA-512 are recomputed; other algorithms are weak or unknown and
// prove nothing. Files are opened as in [Distribution.Inventory].
//
// A row that doesn't hold is a finding in the Report, not an error. Errors are
// those of Inventory, and [CodeChanged] for a file that moved while it was read.
func (d *Distribution) Verify(ctx context.Context) (Report, error) {
	r, err := d.resolver(opVerify)
	if err != nil {
		return Report{}, err
	}
	defer r.close()
	v := &verifier{ctx: ctx, r: r, buf: make([]byte, blockSize)}
	rep := Report{Rows: make([]VerifiedRow, 0, len(d.Record.Rows)), Counts: make(map[FileStatus]int)}
	for _, row := range d.Record.Rows {
		if err := cancelled(ctx, opVerify); err != nil {
			return Report{}, err
		}
		out, err := v.row(row)
		if err != nil {
			return Report{}, err
		}
		rep.Rows = append(rep.Rows, out)
		rep.Counts[out.Status]++
	}
	return rep, nil
}

type verifier struct {
	ctx context.Context //nolint:containedctx // lives for one call
	r   *resolver
	buf []byte
}

func (v *verifier) row(row Row) (VerifiedRow, error) {
	out := VerifiedRow{Row: row}
	st, where, err := v.r.lstat(row)
	var refused *rowFault
	switch {
	case errors.As(err, &refused):
		out.Status, out.Detail = FileNotRegular, refused.why
		if refused.code == CodeOutside {
			out.Status = FileOutside
		}
		return out, nil
	case isCode(err, CodeNotFound):
		out.Status = FileMissing
		if isBytecodeRow(row) {
			out.Status, out.Detail = FileUnhashed, "bytecode, not there"
		}
		return out, nil
	case err != nil:
		return out, err
	}
	sized := row.Size == "" || row.Size == strconv.FormatInt(st.Size, 10)
	if !row.Hashed {
		out.Status = FileUnhashed
		if !sized {
			out.Status, out.Detail = FileSizeMismatch, sizeText(row, st.Size)
		}
		return out, nil
	}
	h, want, status, why := recordedHash(row)
	if status != "" {
		out.Status, out.Detail = status, why
		if !sized {
			out.Detail += "; " + sizeText(row, st.Size)
		}
		return out, nil
	}
	out.Algorithm = strings.ToLower(row.Algorithm)
	if tooLong(row, st.Size) {
		out.Status, out.Detail = FileModified, sizeText(row, st.Size)+"; not read"
		return out, nil
	}
	raw := h()
	size, err := v.read(where, func(b []byte) { raw.Write(b) })
	if err != nil {
		return out, err
	}
	switch held := bytes.Equal(raw.Sum(nil), want); {
	case held && sized:
		out.Status = FileGood
	case held:
		out.Status, out.Detail = FileSizeMismatch, sizeText(row, size)
	default:
		out.Status, out.Detail = FileModified, "content differs from its "+out.Algorithm
		return v.explain(out, where, h, want)
	}
	return out, nil
}

// explain adds to a modified row whether only line endings differ.
func (v *verifier) explain(out VerifiedRow, where string, h func() hash.Hash, want []byte) (VerifiedRow, error) {
	l := newLineHash(h)
	if _, err := v.read(where, l.write); err != nil {
		return out, err
	}
	if sums := l.sums(); bytes.Equal(sums.lf, want) || bytes.Equal(sums.crlf, want) {
		out.LineEndingsOnly = true
		out.Detail += ", but only in line endings"
	}
	return out, nil
}

// tooLong reports whether a file is so much longer than recorded that not even
// other line endings make it the recorded one: reading it, which may take very
// long, could not change the answer.
func tooLong(row Row, size int64) bool {
	recorded, err := strconv.ParseInt(row.Size, 10, 62)
	return err == nil && size > 2*recorded
}

func sizeText(row Row, size int64) string {
	return "size is " + strconv.FormatInt(size, 10) + ", recorded as " + row.Size
}

// read gives the content of a recorded file to sink and returns its size.
func (v *verifier) read(where string, sink func([]byte)) (int64, error) {
	rel := strings.TrimPrefix(where, under(v.r.prefix, ""))
	dir, err := v.r.dir(parentOf(rel))
	if err != nil {
		return 0, err
	}
	fd, st, err := regularAt(opVerify, where, dir, path.Base(rel))
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd) //nolint:errcheck // opened for reading
	return st.Size, readAll(v.ctx, opVerify, where, fd, &st, v.buf, sink)
}

// recordedHash decodes the hash of a row, or says what is wrong with it.
func recordedHash(row Row) (h func() hash.Hash, want []byte, status FileStatus, why string) {
	var size int
	switch strings.ToLower(row.Algorithm) {
	case "sha256":
		h, size = sha256.New, sha256.Size
	case "sha384":
		h, size = sha512.New384, sha512.Size384
	case "sha512":
		h, size = sha512.New, sha512.Size
	default:
		return nil, nil, FileWeakHash, "algorithm " + quote(row.Algorithm) + " proves nothing; sha256, sha384 and sha512 do"
	}
	want, err := base64.RawURLEncoding.Strict().DecodeString(row.Hash)
	if err == nil && len(want) == size && !strings.ContainsAny(row.Hash, "\r\n") {
		return h, want, "", ""
	}
	if b, err := hex.DecodeString(row.Hash); err == nil && len(b) == size {
		return nil, nil, FileMalformed, "written in hexadecimal; RECORD wants URL-safe base64 without padding"
	}
	return nil, nil, FileMalformed, "not URL-safe base64, without padding, of " + strconv.Itoa(size) + " bytes"
}
