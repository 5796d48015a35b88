package digest

import "strings"

// exclusions are the declared paths that a tree digest leaves out.
type exclusions struct {
	used map[string]bool
	list []string
}

// maxExclusions bounds the list, which is written into every record.
const maxExclusions = 1024

// newExclusions checks the declared paths. Each has one spelling: relative,
// separated by single slashes, without . and .. parts, NUL or a trailing slash.
func newExclusions(list []string) (*exclusions, error) {
	if len(list) > maxExclusions {
		return nil, fail(CodeExclusionInvalid, opTree, "", "%d exclusions, at most %d", len(list), maxExclusions)
	}
	x := &exclusions{used: make(map[string]bool, len(list)), list: list}
	for _, p := range list {
		if why := exclusionFault(p); why != "" {
			return nil, fail(CodeExclusionInvalid, opTree, p, "exclusion %s", why)
		}
		if _, twice := x.used[p]; twice {
			return nil, fail(CodeExclusionInvalid, opTree, p, "exclusion is given twice")
		}
		x.used[p] = false
	}
	return x, nil
}

func exclusionFault(p string) string {
	switch {
	case p == "":
		return "is empty"
	case strings.HasPrefix(p, "/"):
		return "is absolute; it must be relative to the root"
	case strings.IndexByte(p, 0) >= 0:
		return "holds NUL"
	}
	for part := range strings.SplitSeq(p, "/") {
		switch part {
		case "":
			return "has an empty part"
		case ".", "..":
			return "has a part " + part
		case bytecodeDir:
			return "names " + bytecodeDir + ", which is never entered"
		}
	}
	return ""
}

// match reports whether path is excluded and notes that the exclusion was used.
func (x *exclusions) match(path []byte) bool {
	if len(x.used) == 0 {
		return false
	}
	if _, ok := x.used[string(path)]; !ok {
		return false
	}
	x.used[string(path)] = true
	return true
}

// unused fails for the first exclusion, in the order given, that matched
// nothing: a misspelt exclusion would otherwise change what is measured.
func (x *exclusions) unused(root string) error {
	for _, p := range x.list {
		if !x.used[p] {
			return fail(CodeExclusionUnused, opTree, root, "exclusion %q matches nothing in the tree", p)
		}
	}
	return nil
}
