//go:build unix

package digest

import (
	"bytes"
	"slices"

	"golang.org/x/sys/unix"
)

const bytecodeDir = "__pycache__"

func dots(name []byte) bool {
	return len(name) == 1 && name[0] == '.' || len(name) == 2 && name[0] == '.' && name[1] == '.'
}

// listing is the sorted content of one directory. Names lie in one buffer, so
// that a directory of a million entries is two allocations and not a million.
type listing struct {
	names   []byte
	entries []entry
}

type entry struct {
	off, end uint32
	kind     entryKind
	ino      uint64
}

// maxDirBytes bounds the names of one directory, which must be sorted in
// memory: 1 GiB is four million names of the longest kind.
const maxDirBytes = 1 << 30

func (l *listing) name(e entry) []byte { return l.names[e.off:e.end] }

// list reads the directory fd and sorts it so that walking depth first visits
// files in byte order of their whole paths: a directory d sorts as d/ does, for
// that is how it occurs in the paths below it ("a.b" < "a/c" < "a0").
//
// A directory or link called __pycache__ is left out: what it holds is derived.
// A link of that name isn't resolved.
func list(fd int, buf []byte) (listing, error) {
	var l listing
	tooLarge := false
	err := readEntries(fd, buf, func(name []byte, ino uint64, kind entryKind) {
		if len(l.names)+len(name) > maxDirBytes {
			tooLarge = true
			return
		}
		off := uint32(len(l.names))
		l.names = append(l.names, name...)
		l.entries = append(l.entries, entry{off: off, end: uint32(len(l.names)), kind: kind, ino: ino})
	})
	if err != nil {
		return listing{}, err
	}
	if tooLarge {
		return listing{}, unix.E2BIG
	}
	kept := l.entries[:0]
	for _, e := range l.entries {
		if e.kind == kindUnknown {
			if e.kind, err = kindAt(fd, string(l.name(e))); err != nil {
				return listing{}, err
			}
		}
		if (e.kind == kindDirectory || e.kind == kindSymlink) && string(l.name(e)) == bytecodeDir {
			continue
		}
		kept = append(kept, e)
	}
	l.entries = kept
	slices.SortFunc(l.entries, l.compare)
	return l, nil
}

func kindAt(dirfd int, name string) (entryKind, error) {
	var st unix.Stat_t
	switch err := lstatat(dirfd, name, &st); err {
	case nil:
		return kindOf(&st), nil
	case unix.ENOENT:
		return kindGone, nil
	default:
		return kindUnknown, err
	}
}

func (l *listing) compare(a, b entry) int {
	x, y := l.name(a), l.name(b)
	n := min(len(x), len(y))
	if c := bytes.Compare(x[:n], y[:n]); c != 0 {
		return c
	}
	return after(x, a.kind, n) - after(y, b.kind, n)
}

// after is the byte that follows the first n of a name in a path; -1 is none.
func after(name []byte, kind entryKind, n int) int {
	switch {
	case n < len(name):
		return int(name[n])
	case kind == kindDirectory:
		return '/'
	default:
		return -1
	}
}

// firstDifference returns the name of an entry that one listing has and the
// other hasn't, or has with another type or inode.
func (l *listing) firstDifference(o *listing) (string, bool) {
	for i := range max(len(l.entries), len(o.entries)) {
		if i >= len(l.entries) {
			return string(o.name(o.entries[i])), true
		}
		if i >= len(o.entries) {
			return string(l.name(l.entries[i])), true
		}
		a, b := l.entries[i], o.entries[i]
		x, y := l.name(a), o.name(b)
		if c := bytes.Compare(x, y); c < 0 {
			return string(x), true
		} else if c > 0 {
			return string(y), true
		}
		if a.kind != b.kind || a.ino != b.ino {
			return string(x), true
		}
	}
	return "", false
}
