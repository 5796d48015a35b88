//go:build unix

package digest

import (
	"bytes"
	"context"
	"crypto/sha256"

	godigest "github.com/opencontainers/go-digest"
	"golang.org/x/sys/unix"
)

// LineEndingDigests returns what the SOURCE_TREE digest of root would be with
// every text file's line ends as LF, and as CRLF. A checkout with another
// autocrlf setting than the recorded one equals one of them, so that a mismatch
// can be explained from a recorded digest alone. Neither is ever an identity.
//
// As git does, a file with a NUL byte is binary and kept as it is.
func LineEndingDigests(ctx context.Context, root string, opts TreeOptions) (lf, crlf godigest.Digest, err error) {
	opts.CollectFiles = true
	tree, err := Tree(ctx, root, opts)
	if err != nil {
		return "", "", err
	}
	lfHash, crlfHash := sha256.New(), sha256.New()
	lfHash.Write(append([]byte(FormatTreeV1), 0))
	crlfHash.Write(append([]byte(FormatTreeV1), 0))
	for _, entry := range tree.Entries {
		asLF, asCRLF, err := lineVariants(ctx, tree.Root+"/"+entry.Path)
		if err != nil {
			return "", "", err
		}
		lfHash.Write(asLF.preimage(entry))
		crlfHash.Write(asCRLF.preimage(entry))
	}
	return sum(lfHash), sum(crlfHash), nil
}

// variant is a file's content as it would be with other line ends.
type variant struct {
	size int64
	sum  [sha256.Size]byte
}

func (v variant) preimage(e TreeEntry) []byte {
	return appendEntry(nil, &job{path: []byte(e.Path), entry: TreeEntry{Size: v.size, Executable: e.Executable}, sum: v.sum})
}

func lineVariants(ctx context.Context, path string) (lf, crlf variant, err error) {
	fd, st, err := openResolved(opLines, path)
	if err != nil {
		return lf, crlf, err
	}
	defer unix.Close(fd) //nolint:errcheck // opened for reading
	l := newLineHash(sha256.New)
	binary, previousCR := false, false
	var pairs, bare int64 // CRLF, and LF without CR
	err = readAll(ctx, opLines, path, fd, &st, make([]byte, blockSize), func(p []byte) {
		l.write(p)
		binary = binary || bytes.IndexByte(p, 0) >= 0
		for _, c := range p {
			if c == '\n' && previousCR {
				pairs++
			} else if c == '\n' {
				bare++
			}
			previousCR = c == '\r'
		}
	})
	if err != nil {
		return lf, crlf, err
	}
	sums := l.sums()
	if binary {
		lf.size, lf.sum = st.Size, [sha256.Size]byte(sums.raw)
		return lf, lf, nil
	}
	lf.size, lf.sum = st.Size-pairs, [sha256.Size]byte(sums.lf)
	crlf.size, crlf.sum = st.Size+bare, [sha256.Size]byte(sums.crlf)
	return lf, crlf, nil
}
