package digest

import "strings"

const opName = "distribution name"

// maxName bounds a distribution name: it is part of a file name.
const maxName = 255

// NormalizeName returns the one spelling of a distribution name that PEP 503
// compares by: lower case, with each run of - _ . as one -. A name that the
// packaging standards don't allow fails with [CodeNameInvalid]: names are ASCII
// letters, digits, - _ and ., and begin and end with a letter or digit.
func NormalizeName(name string) (string, error) {
	switch {
	case name == "":
		return "", fail(CodeNameInvalid, opName, "", "empty")
	case len(name) > maxName:
		return "", fail(CodeNameInvalid, opName, "", "longer than %d bytes", maxName)
	}
	for i := range len(name) {
		if c := name[i]; !alnum(c) && !separator(c) {
			return "", fail(CodeNameInvalid, opName, "", "%q holds %q; names are ASCII letters, digits, - _ and .", name, c)
		}
	}
	if separator(name[0]) || separator(name[len(name)-1]) {
		return "", fail(CodeNameInvalid, opName, "", "%q does not begin and end with a letter or digit", name)
	}
	return fold(name), nil
}

func alnum(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

func separator(c byte) bool { return c == '-' || c == '_' || c == '.' }

// fold is the substitution of PEP 503, for any text.
func fold(s string) string {
	b := make([]byte, 0, len(s))
	for i := range len(s) {
		c := s[i]
		switch {
		case separator(c):
			if i == 0 || !separator(s[i-1]) {
				b = append(b, '-')
			}
		case c >= 'A' && c <= 'Z':
			b = append(b, c+('a'-'A'))
		default:
			b = append(b, c)
		}
	}
	return string(b)
}

// matchesFolder reports whether the stem of a metadata folder (its name without
// .dist-info) can be that of the distribution norm: the folded name alone, or
// followed by a dash and anything. "foo-bar-1.0" may so be foo or foo-bar; what
// METADATA says decides.
func matchesFolder(stem, norm string) bool {
	rest, ok := strings.CutPrefix(fold(stem), norm)
	return ok && (rest == "" || rest[0] == '-')
}

// firstDash is the name part of a stem in the standard's spelling, where dashes
// of the name itself are written as underscores.
func firstDash(stem string) string {
	name, _, _ := strings.Cut(stem, "-")
	return fold(name)
}

// tildeOf reports whether stem is how pip renames the folder of norm while it
// uninstalls: a ~ in place of the first letter, or ~ and more stand-ins for the
// first few. A pip that is killed leaves it behind.
func tildeOf(stem, norm string) bool {
	name, _, _ := strings.Cut(stem, "-")
	if len(name) != len(norm) || !strings.HasPrefix(name, "~") {
		return false
	}
	for i := 1; i <= min(3, len(name)-1); i++ {
		if fold("x" + name[i:])[1:] == fold("x" + norm[i:])[1:] {
			return true
		}
	}
	return false
}
