//go:build unix

package digest

import (
	"errors"
	"path/filepath"
	"strconv"
	"strings"
)

// quote prints bytes of file names for a message.
func quote(s string) string { return strconv.Quote(s) }

func isCode(err error, code Code) bool { return errors.Is(err, code) }

// at puts the place of a file into the error of its parser.
func at(err error, op, path string) error {
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	c := *e
	c.Op, c.Path = op, path
	return &c
}

// maxSmall bounds INSTALLER, direct_url.json and .pth files.
const maxSmall = 1 << 20

// load reads what belongs to the found distribution.
func (f *finder) load(prefix string) (*Distribution, error) {
	c := f.found
	d := &Distribution{
		Name: c.md.Name, Version: c.md.Version, Site: c.site, MetadataDir: c.path(), Metadata: c.md,
	}
	var err error
	if d.Prefix, err = environmentRoot(prefix, c.site); err != nil {
		return nil, err
	}
	if d.Installer, err = f.installer(c.path()); err != nil {
		return nil, err
	}
	data, err := f.read(c.path(), "RECORD", maxRecordBytes)
	if isCode(err, CodeNotFound) {
		by := d.Installer
		if by == "" {
			by = "unknown"
		}
		return nil, fail(CodeRecordMissing, opFind, c.path(), "no RECORD (INSTALLER: %s)", by)
	}
	if err != nil {
		return nil, err
	}
	if d.Record, err = ParseRecord(data); err != nil {
		return nil, at(err, opFind, c.path()+"/RECORD")
	}
	if d.Editable, err = f.editable(d); err != nil {
		return nil, err
	}
	d.LicenseFiles = licenseFiles(d.Record, c.folder, c.md)
	for _, left := range f.left {
		f.warn = append(f.warn, Warning{CodeLeftover, left.path(), "remains of another installation, without METADATA; not measured"})
	}
	d.Warnings = f.warn
	return d, nil
}

// installer returns the first line of INSTALLER, "" if there is none. It is
// shown to people, so that control characters are dropped.
func (f *finder) installer(dir string) (string, error) {
	data, err := f.read(dir, "INSTALLER", maxSmall)
	if isCode(err, CodeNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(data)), "\n")
	line = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return -1
		}
		return r
	}, line)
	return line[:min(len(line), 64)], nil
}

// environmentRoot checks or derives Search.Prefix.
func environmentRoot(prefix, site string) (string, error) {
	if prefix == "" {
		return derivedPrefix(site), nil
	}
	if !filepath.IsAbs(prefix) {
		return "", fail(CodeInvalidArgument, opFind, prefix, "prefix must be absolute")
	}
	real, err := resolve(opFind, prefix)
	if err != nil {
		return "", err
	}
	if !within(site, real) {
		return "", fail(CodeInvalidArgument, opFind, prefix, "%s, where the distribution lies, is not below the prefix", quote(site))
	}
	return real, nil
}

func derivedPrefix(site string) string {
	dir, base := filepath.Split(site)
	if base != "site-packages" && base != "dist-packages" {
		return site
	}
	parent, lib := filepath.Split(filepath.Clean(dir))
	if isLib(lib) {
		return filepath.Clean(parent)
	}
	if !strings.HasPrefix(lib, "python") && !strings.HasPrefix(lib, "pypy") {
		return site
	}
	root, lib := filepath.Split(filepath.Clean(parent))
	if !isLib(lib) {
		return site
	}
	return filepath.Clean(root)
}

func isLib(name string) bool { return name == "lib" || name == "lib64" || name == "lib32" }

// within reports whether the clean absolute path lies below root or is it.
func within(path, root string) bool {
	return root == "/" || path == root || strings.HasPrefix(path, root+"/")
}
