//go:build unix

package digest

import (
	"context"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

const opFind = "find distribution"

// Search says where distributions are looked for.
type Search struct {
	// Paths are the directories of sys.path that can hold distributions, in
	// order, absolute. One that isn't there, or is a file such as a zip archive,
	// is passed over, as Python does.
	Paths []string
	// Prefix is the root of the environment: no recorded file may lie outside
	// it. If it is empty it follows from the directory that the distribution is
	// found in: P for P/lib*/pythonX.Y/{site,dist}-packages,
	// P/lib/{site,dist}-packages and P/lib/python3/dist-packages, else the
	// directory itself.
	Prefix string
}

// Distribution is an installed Python distribution, as its metadata has it.
// Nothing of its code has been imported or hashed yet.
type Distribution struct {
	Name        string `json:"name"` // as METADATA spells it
	Version     string `json:"version"`
	Site        string `json:"site"`         // absolute, links resolved
	Prefix      string `json:"prefix"`       // absolute, links resolved
	MetadataDir string `json:"metadata_dir"` // absolute
	Installer   string `json:"installer,omitempty"`
	// Editable is set when what runs is a checkout and not the recorded files.
	Editable     *Editable `json:"editable,omitempty"`
	Metadata     Metadata  `json:"metadata"`
	LicenseFiles []string  `json:"license_files"`
	Record       *Record   `json:"-"`
	Warnings     []Warning `json:"warnings,omitempty"`
}

// Warning is something odd that doesn't change what is measured.
type Warning struct {
	Code   Code   `json:"code"`
	Path   string `json:"path"`
	Detail string `json:"detail"`
}

// CodeShadowed is a warning only: the same name is installed again further down
// the search path, where Python doesn't look.
const CodeShadowed Code = "digest.shadowed"

// FindDistribution finds the installed distribution of a name, in any spelling
// that PEP 503 holds equal, by reading site directories. The first directory of
// the search path that has it wins, as in Python.
//
// It fails, in words that tell these apart, when the name is impossible
// ([CodeNameInvalid]); nothing is there ([CodeNotInstalled]), or only the import
// package ([CodeNoMetadata]), or only the remains of an uninstall
// ([CodeLeftover]); two installations share a directory ([CodeAmbiguous], never
// decided by directory order); it is an egg ([CodeLegacy]); METADATA doesn't
// parse ([CodeMetadataMalformed]) or has another name ([CodeNameMismatch]); or
// RECORD is missing, empty, malformed or has no hashes ([CodeRecordMissing],
// [CodeRecordEmpty], [CodeRecordMalformed], [CodeRecordNoHash]).
//
// Remains beside a good installation, and the same name in a later directory,
// are warnings.
func FindDistribution(ctx context.Context, search Search, name string) (*Distribution, error) {
	norm, err := NormalizeName(name)
	if err != nil {
		return nil, err
	}
	f := &finder{ctx: ctx, norm: norm, name: name}
	if err := f.scan(search.Paths); err != nil {
		return nil, err
	}
	if f.found == nil {
		return nil, f.absent(search.Paths)
	}
	return f.load(search.Prefix)
}

// finder holds what was seen on the search path.
type finder struct {
	ctx   context.Context //nolint:containedctx // lives for one call
	norm  string
	name  string
	dirs  []FileID    // directories seen, for two paths may be one
	found *candidate  // the one that Python would take
	left  []candidate // remains
	warn  []Warning
}

// candidate is a metadata entry of a site directory.
type candidate struct {
	site   string // absolute, links resolved
	folder string
	kind   candidateKind
	md     Metadata
}

func (c candidate) path() string { return c.site + "/" + c.folder }

type candidateKind uint8

const (
	candidateGood   candidateKind = iota + 1
	candidateRemain               // no METADATA, or renamed by pip
	candidateLegacy               // egg-info, egg-link, .egg
)

func (f *finder) scan(paths []string) error {
	for _, p := range paths {
		if !filepath.IsAbs(p) || strings.IndexByte(p, 0) >= 0 {
			return fail(CodeInvalidArgument, opFind, p, "search path entries must be absolute")
		}
		if err := cancelled(f.ctx, opFind); err != nil {
			return err
		}
		site, l, err := f.openSite(p)
		if err != nil {
			return err
		}
		if site == "" {
			continue
		}
		if err := f.directory(site, &l); err != nil {
			return err
		}
	}
	return nil
}

// openSite lists one site directory. The answer "" means: pass over.
func (f *finder) openSite(p string) (string, listing, error) {
	site, err := filepath.EvalSymlinks(p)
	if err != nil {
		if e := sysFail(opFind, p, err); e.Code == CodePermission {
			return "", listing{}, e
		}
		return "", listing{}, nil
	}
	var st unix.Stat_t
	if err := lstatat(unix.AT_FDCWD, site, &st); err != nil || kindOf(&st) != kindDirectory {
		return "", listing{}, nil
	}
	id := fileID(&st)
	for _, seen := range f.dirs {
		if seen.Same(id) {
			return "", listing{}, nil
		}
	}
	f.dirs = append(f.dirs, id)
	fd, err := openat(unix.AT_FDCWD, site, openDir)
	if err != nil {
		return "", listing{}, sysFail(opFind, site, err)
	}
	defer unix.Close(fd) //nolint:errcheck // opened for reading
	l, err := list(fd, make([]byte, direntBuffer))
	if err != nil {
		return "", listing{}, sysFail(opFind, site, err)
	}
	return site, l, nil
}

// directory takes in the candidates of one site directory.
func (f *finder) directory(site string, l *listing) error {
	var here []candidate
	for _, e := range l.entries {
		c, err := f.candidate(site, string(l.name(e)), e.kind)
		if err != nil {
			return err
		}
		switch c.kind {
		case 0:
		case candidateRemain:
			f.left = append(f.left, c)
		default:
			here = append(here, c)
		}
	}
	switch {
	case len(here) == 0:
		return nil
	case f.found != nil:
		for _, c := range here {
			f.warn = append(f.warn, Warning{CodeShadowed, c.path(), "the same distribution again, later on the search path"})
		}
		return nil
	case len(here) > 1:
		return fail(CodeAmbiguous, opFind, site, "%q is installed twice in one directory: %s", f.name, folders(here))
	}
	c := here[0]
	if c.kind == candidateLegacy {
		return fail(CodeLegacy, opFind, c.path(), "legacy metadata, no hashes: install it again as a wheel")
	}
	f.found = &c
	return nil
}

func folders(cs []candidate) string {
	var b strings.Builder
	for i, c := range cs {
		if i > 0 {
			b.WriteString(" and ")
		}
		b.WriteString(quote(c.folder))
	}
	return b.String()
}

// candidate says what an entry of a site directory is to the wanted name; its
// kind is 0 for nothing.
func (f *finder) candidate(site, folder string, kind entryKind) (candidate, error) {
	c := candidate{site: site, folder: folder}
	stem, ending := cutEnding(folder)
	if ending == "" {
		return c, nil
	}
	if tildeOf(stem, f.norm) {
		c.kind = candidateRemain
		return c, nil
	}
	if !matchesFolder(stem, f.norm) {
		return c, nil
	}
	if ending != ".dist-info" {
		if firstDash(stem) == f.norm || ending == ".egg-link" && fold(stem) == f.norm {
			c.kind = candidateLegacy
		}
		return c, nil
	}
	if kind != kindDirectory {
		if firstDash(stem) != f.norm {
			return c, nil
		}
		return c, fail(CodeNotRegular, opFind, c.path(), "metadata folder is a %s", kind)
	}
	return f.distInfo(c, stem)
}

func cutEnding(folder string) (stem, ending string) {
	for _, end := range []string{".dist-info", ".egg-info", ".egg-link", ".egg"} {
		if s, ok := strings.CutSuffix(folder, end); ok {
			return s, end
		}
	}
	return folder, ""
}

// distInfo reads METADATA to learn whose folder it is.
func (f *finder) distInfo(c candidate, stem string) (candidate, error) {
	data, err := f.read(c.path(), "METADATA", maxMetadataBytes)
	if isCode(err, CodeNotFound) {
		if firstDash(stem) == f.norm {
			c.kind = candidateRemain
		}
		return c, nil
	}
	if err != nil {
		return c, err
	}
	c.md, err = ParseMetadata(data)
	if err != nil {
		if firstDash(stem) != f.norm {
			return c, nil // not certainly ours, and broken: another's business
		}
		return c, at(err, opFind, c.path()+"/METADATA")
	}
	named := fold(c.md.Name)
	switch {
	case named == f.norm:
		c.kind = candidateGood
		f.checkVersion(c, stem)
		return c, nil
	case firstDash(stem) != f.norm || matchesFolder(stem, named):
		return c, nil // foo-bar-1.0 is foo-bar, and foo was wanted
	default:
		return c, fail(CodeNameMismatch, opFind, c.path(), "the folder is that of %q, but its METADATA is that of %q", f.name, c.md.Name)
	}
}

// checkVersion warns when the folder has another version than METADATA, which
// is what a hand-made or half-overwritten installation looks like.
func (f *finder) checkVersion(c candidate, stem string) {
	rest := fold(stem)[len(f.norm):]
	if rest != "" && rest != "-"+fold(c.md.Version) {
		f.warn = append(f.warn, Warning{CodeNameMismatch, c.path(), "METADATA has version " + quote(c.md.Version) + ", the folder's name another"})
	}
}

// read returns a file of a metadata folder.
func (f *finder) read(dir, name string, limit int64) ([]byte, error) {
	return readIn(f.ctx, opFind, dir, name, limit)
}

func readIn(ctx context.Context, op, dir, name string, limit int64) ([]byte, error) {
	fd, err := openat(unix.AT_FDCWD, dir, openDir)
	if err != nil {
		return nil, sysFail(op, dir, err)
	}
	defer unix.Close(fd) //nolint:errcheck // opened for reading
	path := dir + "/" + name
	kind, err := kindAt(fd, name)
	switch {
	case err != nil:
		return nil, sysFail(op, path, err)
	case kind == kindGone:
		return nil, fail(CodeNotFound, op, path, "no such file")
	case kind != kindRegular:
		return nil, fail(CodeNotRegular, op, path, "%s", kind)
	}
	return smallFile(ctx, op, path, fd, name, limit)
}

// absent says in the most helpful words that there is nothing to measure.
func (f *finder) absent(paths []string) error {
	if len(f.left) > 0 {
		return fail(CodeLeftover, opFind, f.left[0].path(),
			"%q is not installed: only the remains of an interrupted or partial uninstall, without METADATA", f.name)
	}
	for _, p := range paths {
		for _, base := range []string{strings.ReplaceAll(f.norm, "-", "_"), f.name} {
			m, err := findIn([]string{p}, base)
			if identifier(base) && err == nil && m.Kind != "" {
				return fail(CodeNoMetadata, opFind, m.Path, "%q has code here, but no metadata on the search path", f.name)
			}
		}
	}
	return fail(CodeNotInstalled, opFind, "", "%q is not installed in any of the %d directories of the search path", f.name, len(f.dirs))
}
