package digest

import (
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxLicensePath is the limit of the runtime record, in characters.
const maxLicensePath = 256

// licenseFiles returns the rows of rec that are licence texts, as sorted unique
// RECORD paths. distInfo is the name of the metadata folder. A row counts if it
//
//   - lies in distInfo/licenses/ (PEP 639),
//   - is what a License-File header names, there or, as tools before PEP 639
//     put it, in distInfo itself or distInfo/license_files/, or
//   - is called LICENSE, LICENCE, COPYING, NOTICE or AUTHORS, with no ending or
//     .txt, .md or .rst, in any case, anywhere.
//
// A module is never one, whatever its name, outside licenses/. Paths that are
// absolute, have a .. part or a backslash, or are longer than 256 characters
// can't stand in a record and are left out.
func licenseFiles(rec *Record, distInfo string, md Metadata) []string {
	declared := make(map[string]bool)
	for _, f := range md.LicenseFiles {
		f, why := recordPath(f)
		if why != "" || !licensePath(f) {
			continue
		}
		for _, p := range []string{
			path.Join(distInfo, "licenses", f), path.Join(distInfo, "license_files", f),
			path.Join(distInfo, f), path.Join(distInfo, path.Base(f)),
		} {
			declared[p] = true
		}
	}
	var out []string
	for _, row := range rec.Rows {
		p := row.Path
		if !licensePath(p) {
			continue
		}
		inLicenses := strings.HasPrefix(p, distInfo+"/licenses/")
		if inLicenses || !isModule(p) && (declared[p] || licenseName(path.Base(p))) {
			out = append(out, p)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func licensePath(p string) bool {
	if strings.HasPrefix(p, "/") || strings.ContainsRune(p, '\\') || utf8.RuneCountInString(p) > maxLicensePath {
		return false
	}
	return !slices.Contains(strings.Split(p, "/"), "..")
}

func isModule(p string) bool {
	switch strings.ToLower(path.Ext(p)) {
	case ".py", ".pyc", ".pyi", ".pyx", ".pxd", ".so", ".pyd", ".dylib", ".dll":
		return true
	default:
		return false
	}
}

func licenseName(base string) bool {
	stem, ext, _ := strings.Cut(strings.ToLower(base), ".")
	switch stem {
	case "license", "licence", "copying", "notice", "authors":
	default:
		return false
	}
	switch ext {
	case "", "txt", "md", "rst":
		return !strings.HasSuffix(base, ".")
	default:
		return false
	}
}
