package provider

import (
	"bufio"
	"context"
	"os"
	"path/filepath"
	"strings"
)

// systemPackages are the packages of the system that own files, by path.
type systemPackages struct {
	byPath map[string]Owner
	absent bool // there is no database that can be read
}

// Bounds of what is read: more than any distribution has, and little enough for
// a database that is not one.
const (
	maxPackageLists = 1 << 17
	maxPackageFile  = 256 << 20
)

// findSystemPackages finds the packages of paths in a database of dpkg, whose
// info/PACKAGE.list files have one path a line, and whose status has versions.
// There is no reading of rpm's database, which is none of text.
func findSystemPackages(ctx context.Context, database string, paths []string) systemPackages {
	s := systemPackages{byPath: map[string]Owner{}}
	if len(paths) == 0 {
		return s
	}
	wanted := map[string]string{}
	for _, path := range paths {
		for _, name := range packagedNames(path) {
			wanted[name] = path
		}
	}
	lists, err := filepath.Glob(filepath.Join(database, "info", "*.list"))
	if err != nil || len(lists) == 0 {
		s.absent = true
		return s
	}
	names := map[string]string{} // package by path
	for _, list := range lists[:min(len(lists), maxPackageLists)] {
		if ctx.Err() != nil {
			return s
		}
		name, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(list), ".list"), ":")
		eachLine(list, func(line string) {
			if path, ok := wanted[line]; ok {
				names[path] = name
			}
		})
	}
	versions := packageVersions(filepath.Join(database, "status"), names)
	for path, name := range names {
		s.byPath[path] = Owner{Kind: OwnerPackage, Name: name, Version: versions[name]}
	}
	return s
}

func (s systemPackages) of(path string) (Owner, bool) {
	owner, ok := s.byPath[path]
	return owner, ok
}

// packagedNames are the names that a package may list a file under: where /bin
// and /lib are links into /usr, packages still name their files without it.
func packagedNames(path string) []string {
	names := []string{path}
	for _, dir := range []string{"/bin/", "/sbin/", "/lib/", "/lib32/", "/lib64/", "/libx32/"} {
		if strings.HasPrefix(path, "/usr"+dir) {
			names = append(names, strings.TrimPrefix(path, "/usr"))
		}
		// The loader is named through /lib64, which is a folder of links.
		if strings.HasPrefix(path, "/usr/lib/") && dir == "/lib64/" && strings.HasPrefix(filepath.Base(path), "ld-linux") {
			names = append(names, dir+filepath.Base(path))
		}
	}
	return names
}

// packageVersions reads the versions of packages from dpkg's status file, which
// has a paragraph of "Key: value" lines for each.
func packageVersions(status string, names map[string]string) map[string]string {
	wanted := map[string]bool{}
	for _, name := range names {
		wanted[name] = true
	}
	versions := map[string]string{}
	current := ""
	eachLine(status, func(line string) {
		if name, ok := strings.CutPrefix(line, "Package: "); ok {
			current = name
		}
		if version, ok := strings.CutPrefix(line, "Version: "); ok && wanted[current] && versions[current] == "" {
			versions[current] = version
		}
	})
	return versions
}

// eachLine calls f for each line of a text file, up to maxPackageFile. A file
// that can't be read has none.
func eachLine(path string, f func(string)) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxPackageFile {
		return
	}
	file, err := os.Open(path)
	if err != nil {
		return
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(make([]byte, 0, 64<<10), 1<<20)
	for lines.Scan() {
		f(lines.Text())
	}
}
