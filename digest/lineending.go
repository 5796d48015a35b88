//go:build unix

package digest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"hash"

	godigest "github.com/opencontainers/go-digest"
	"golang.org/x/sys/unix"
)

const opLines = "compare line endings"

// lineHash computes three hashes of one content: as it is, with each CRLF as LF,
// and with each line end as CRLF. The last two explain a mismatch; they are
// never an identity.
type lineHash struct {
	raw, lf, crlf hash.Hash
	cr            bool // the last byte was a CR that isn't written yet
}

type lineSums struct{ raw, lf, crlf []byte }

func newLineHash(h func() hash.Hash) *lineHash { return &lineHash{raw: h(), lf: h(), crlf: h()} }

func (l *lineHash) write(p []byte) {
	l.raw.Write(p)
	for len(p) > 0 {
		if l.cr {
			l.cr = false
			if p[0] != '\n' { // a CR alone is content
				l.lf.Write([]byte{'\r'})
				l.crlf.Write([]byte{'\r'})
			}
		}
		i := bytes.IndexAny(p, "\r\n")
		if i < 0 {
			l.lf.Write(p)
			l.crlf.Write(p)
			return
		}
		l.lf.Write(p[:i])
		l.crlf.Write(p[:i])
		if p[i] == '\r' {
			l.cr = true
		} else {
			l.lf.Write([]byte{'\n'})
			l.crlf.Write([]byte{'\r', '\n'})
		}
		p = p[i+1:]
	}
}

func (l *lineHash) sums() lineSums {
	if l.cr {
		l.cr = false
		l.lf.Write([]byte{'\r'})
		l.crlf.Write([]byte{'\r'})
	}
	return lineSums{l.raw.Sum(nil), l.lf.Sum(nil), l.crlf.Sum(nil)}
}

// LineEndingsOnly reports whether the tree at root differs from the files of an
// earlier measurement in line endings and nothing else: same paths, same execute
// bits, and each file whose content differs is the recorded one with its line
// ends as LF throughout, or as CRLF throughout. Equal trees give false.
//
// It is meant for the message about a mismatch; a digest never folds line ends.
func LineEndingsOnly(ctx context.Context, root string, want []TreeEntry, opts TreeOptions) (bool, error) {
	opts.CollectFiles = true
	got, err := Tree(ctx, root, opts)
	if err != nil {
		return false, err
	}
	return onlyLines(got.Entries, want, func(i int) (bool, error) {
		sums, err := fileLines(ctx, got.Root+"/"+got.Entries[i].Path)
		if err != nil {
			return false, err
		}
		d := want[i].Digest
		return d == digestOf(sums.lf) || d == digestOf(sums.crlf), nil
	})
}

// TreesDifferOnlyInLineEndings is [LineEndingsOnly] for two trees on disk, where
// line ends may be mixed in both.
func TreesDifferOnlyInLineEndings(ctx context.Context, a, b string, opts TreeOptions) (bool, error) {
	opts.CollectFiles = true
	x, err := Tree(ctx, a, opts)
	if err != nil {
		return false, err
	}
	y, err := Tree(ctx, b, opts)
	if err != nil {
		return false, err
	}
	return onlyLines(x.Entries, y.Entries, func(i int) (bool, error) {
		s, err := fileLines(ctx, x.Root+"/"+x.Entries[i].Path)
		if err != nil {
			return false, err
		}
		t, err := fileLines(ctx, y.Root+"/"+y.Entries[i].Path)
		return bytes.Equal(s.lf, t.lf), err
	})
}

// onlyLines compares two lists; same is asked about entries of unequal content.
func onlyLines(a, b []TreeEntry, same func(i int) (bool, error)) (bool, error) {
	if len(a) != len(b) {
		return false, nil
	}
	for i := range a {
		if a[i].Path != b[i].Path || a[i].Executable != b[i].Executable {
			return false, nil
		}
	}
	differ := false
	for i := range a {
		if a[i].Digest == b[i].Digest {
			continue
		}
		if ok, err := same(i); err != nil || !ok {
			return false, err
		}
		differ = true
	}
	return differ, nil
}

func fileLines(ctx context.Context, path string) (lineSums, error) {
	fd, st, err := openResolved(opLines, path)
	if err != nil {
		return lineSums{}, err
	}
	defer unix.Close(fd) //nolint:errcheck // opened for reading
	l := newLineHash(sha256.New)
	if err := readAll(ctx, opLines, path, fd, &st, make([]byte, blockSize), l.write); err != nil {
		return lineSums{}, err
	}
	return l.sums(), nil
}

func digestOf(sum []byte) godigest.Digest {
	return godigest.NewDigestFromBytes(godigest.SHA256, sum)
}
