package provider

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/provider-measure/provider-measure/digest"
	"github.com/provider-measure/provider-measure/probe"
)

// ClosureVersion is the version of a printed [Closure].
const ClosureVersion = "1"

// Coverage says whether a file that a run used is part of a declared identity.
type Coverage string

// The kinds of coverage.
const (
	// Covered is a file of which the identity's digest would change if it did:
	// for a RECORD kind one that RECORD has a hash of, since that digest is of
	// the manifest.
	Covered Coverage = "COVERED"
	// Moved is a file that the identity names and that is another one now, by
	// inode, size or time, than when the identity was measured.
	Moved Coverage = "CHANGED"
	// Uncovered is a file whose content the identity says nothing of.
	Uncovered Coverage = "UNCOVERED"
	// Exempt is what has no content of an installation: the run's own scratch
	// files, directories, devices, pipes, sockets, and what the kernel makes up.
	Exempt Coverage = "EXEMPT"
)

// Closure is what one run used, held against the identity of its provider.
type Closure struct {
	ClosureVersion string      `json:"closure_version"`
	Provider       string      `json:"provider"`
	DigestKind     digest.Kind `json:"digest_kind"`
	Digest         string      `json:"provider_digest"`
	// Counts of Files by coverage.
	Covered   int `json:"covered"`
	Changed   int `json:"changed"`
	Uncovered int `json:"uncovered"`
	Exempt    int `json:"exempt"`

	Files []ClosureFile `json:"files"` // as they were observed
	// Owners adds up the changed and uncovered files by owner, largest first.
	Owners []OwnerTotal `json:"owners"`
	// Composite lists the components that together would cover most, the
	// provider itself first. A component without a provider ID would have to be
	// declared.
	Composite []ClosureComponent `json:"composite"`
	// Remaining counts the uncovered files that no component there would cover.
	Remaining int `json:"remaining"`
	// Notes say what should be known of those that remain.
	Notes []string `json:"notes"`
}

// ClosureFile is one used file.
type ClosureFile struct {
	probe.ObservedFile
	Coverage Coverage `json:"coverage"`
	// CoveredBy is the provider whose identity covers the file: a composite's
	// component, or the provider itself.
	CoveredBy string `json:"covered_by,omitempty"`
	Owner     Owner  `json:"owner"`
}

// OwnerTotal is the changed and uncovered files of one owner.
type OwnerTotal struct {
	Owner
	Files int `json:"files"`
}

// ClosureComponent is one component of the composite that would cover more.
type ClosureComponent struct {
	Kind     digest.Kind `json:"kind"`
	Provider string      `json:"provider,omitempty"` // when one of the host's manifests declares it
	// Name is the distribution, or the path of the executable or of the tree's
	// root.
	Name    string   `json:"name"`
	Exclude []string `json:"exclude,omitempty"` // of the tree
	Files   int      `json:"files"`             // used files that it would cover
}

// Closure holds the files that a run of id's provider used against its identity.
// It says of each whether it is covered, who owns it, and which components would
// cover what is not. It reads the metadata of the interpreter's distributions and
// the system's package database; it runs nothing.
//
// The error is the context's, when it ended.
func (h *Host) Closure(ctx context.Context, id Identification, observed []probe.ObservedFile) (*Closure, error) {
	c := &Closure{
		ClosureVersion: ClosureVersion, Provider: id.Manifest.ID, DigestKind: id.Manifest.Identity.Kind,
		Digest: id.Runtime.Digest().String(),
	}
	claims := newClaims()
	claims.add(id)
	for _, f := range observed {
		c.Files = append(c.Files, claims.judge(f))
	}
	owners := h.newOwners(ctx, c.missing())
	for i := range c.Files {
		c.Files[i].Owner = owners.of(&c.Files[i])
	}
	c.count()
	c.compose(ctx, h, claims, id)
	c.notes()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return c, nil
}

// missing are the files that the identity does not cover.
func (c *Closure) missing() []*ClosureFile {
	var all []*ClosureFile
	for i := range c.Files {
		if f := &c.Files[i]; f.Coverage == Uncovered || f.Coverage == Moved {
			all = append(all, f)
		}
	}
	return all
}

// count adds up.
func (c *Closure) count() {
	totals := map[Owner]int{}
	for _, f := range c.Files {
		switch f.Coverage {
		case Covered:
			c.Covered++
		case Moved:
			c.Changed++
		case Uncovered:
			c.Uncovered++
		case Exempt:
			c.Exempt++
		}
	}
	for _, f := range c.missing() {
		totals[f.Owner]++
	}
	c.Owners = []OwnerTotal{}
	for owner, n := range totals {
		c.Owners = append(c.Owners, OwnerTotal{owner, n})
	}
	slices.SortFunc(c.Owners, func(a, b OwnerTotal) int {
		return cmp.Or(cmp.Compare(b.Files, a.Files), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Root, b.Root))
	})
}

// claims are the files that identities cover, by inode, and by path for those
// whose inode is another by now.
type claims struct {
	byInode map[inode]claim
	byPath  map[string]claim
}

type inode struct{ dev, ino uint64 }

// claim is one file as an identity measured it.
type claim struct {
	provider string
	file     digest.FileID
}

func newClaims() *claims { return &claims{byInode: map[inode]claim{}, byPath: map[string]claim{}} }

// add claims what id measured.
func (s *claims) add(id Identification) {
	name, m := id.Manifest.ID, id.Measured
	if m.Executable != nil {
		s.put(name, m.Executable.Path, m.Executable.File)
	}
	if m.Tree != nil {
		for _, e := range m.Tree.Entries {
			s.put(name, treePath(m.Tree, e.Path), e.File)
		}
	}
	if m.Distribution != nil && m.Inventory != nil {
		for _, f := range m.Inventory.Files {
			if f.Row.Hashed {
				s.put(name, f.Path, f.File)
			}
		}
	}
	for _, component := range m.Components {
		s.add(component)
	}
}

// treePath is the path of a tree's entry. The entries of a package that is one
// module are below the folder that holds it, by name.
func treePath(t *digest.TreeResult, entry string) string {
	if t.Format == digest.FormatPackageV2 && filepath.Base(t.Root) == entry {
		return t.Root
	}
	return filepath.Join(t.Root, filepath.FromSlash(entry))
}

// put claims one file for the first who names it.
func (s *claims) put(provider, path string, file digest.FileID) {
	c := claim{provider, file}
	if key := (inode{file.Dev, file.Ino}); s.byInode[key].provider == "" {
		s.byInode[key] = c
	}
	if s.byPath[path].provider == "" {
		s.byPath[path] = c
	}
}

// covers finds who covers a file as it is.
func (s *claims) covers(f *probe.ObservedFile) (provider string, ok bool) {
	c, ok := s.byInode[inode{f.Dev, f.Ino}]
	same := c.file.Size == f.Size && c.file.MtimeNS == f.MtimeNS && c.file.CtimeNS == f.CtimeNS
	return c.provider, ok && same && !f.Changed
}

// judge decides one file's coverage.
func (s *claims) judge(f probe.ObservedFile) ClosureFile {
	file := ClosureFile{ObservedFile: f, Coverage: Uncovered}
	if provider, ok := s.covers(&f); ok {
		file.Coverage, file.CoveredBy = Covered, provider
		return file
	}
	if exempt(&f) {
		file.Coverage = Exempt
		return file
	}
	c, known := s.byInode[inode{f.Dev, f.Ino}]
	if !known {
		c, known = s.byPath[f.Path]
	}
	if known {
		file.Coverage, file.CoveredBy = Moved, c.provider
	}
	return file
}

// exempt reports whether a file has no content that an installation put there.
// A file in memory that is executed has content that came from somewhere.
func exempt(f *probe.ObservedFile) bool {
	switch f.Kind {
	case probe.FileRegular:
		return inScratch(f.Path)
	case probe.FileMemory:
		return !f.Executed
	case probe.FileDirectory, probe.FileLink, probe.FileDevice, probe.FilePipe, probe.FileSocket, probe.FilePseudo:
	}
	return true
}

// inScratch reports whether an observed path is in the run's scratch folder.
func inScratch(path string) bool {
	return path == probe.ScratchVar || strings.HasPrefix(path, probe.ScratchVar+"/")
}

// notes says what no component can mend.
func (c *Closure) notes() {
	c.Notes = []string{}
	bytecode, written := 0, 0
	for _, f := range c.missing() {
		if isBytecode(f.Path) {
			bytecode++
		}
	}
	for _, f := range c.Files {
		if f.Write && f.Coverage != Exempt {
			written++
		}
	}
	if bytecode > 0 {
		c.Notes = append(c.Notes, fmt.Sprintf("%d files are Python's cached bytecode, which no identity covers and which runs in place of its source; "+
			"-X pycache_prefix=${scratch} in the manifest's commands keeps it from being read", bytecode))
	}
	if written > 0 {
		c.Notes = append(c.Notes, fmt.Sprintf("%d files outside the scratch folder were opened for writing", written))
	}
	if c.Remaining > bytecode {
		c.Notes = append(c.Notes, "files of the system's packages and of its configuration are of no identity kind: they are the image that the host was made from")
	}
}

// isBytecode reports whether path is cached bytecode.
func isBytecode(path string) bool {
	return strings.HasSuffix(path, ".pyc") && filepath.Base(filepath.Dir(path)) == "__pycache__"
}
