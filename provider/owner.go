package provider

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/provider-measure/provider-measure/digest"
	"github.com/provider-measure/provider-measure/probe"
)

// OwnerKind says what a used file belongs to.
type OwnerKind string

// The kinds of owners.
const (
	OwnerIdentity     OwnerKind = "IDENTITY"       // the provider, or a component of it; Name is its ID
	OwnerDistribution OwnerKind = "DISTRIBUTION"   // a Python distribution of the chosen interpreter
	OwnerInterpreter  OwnerKind = "INTERPRETER"    // the chosen interpreter, its standard library, its environment
	OwnerPackage      OwnerKind = "SYSTEM_PACKAGE" // a package of the system
	OwnerScratch      OwnerKind = "SCRATCH"        // the run itself
	OwnerKernel       OwnerKind = "KERNEL"         // nothing on disk: devices, pipes, sockets, /proc and its like
	OwnerNone         OwnerKind = "NONE"           // nothing that keeps a list of files names it
	OwnerUnknown      OwnerKind = "UNKNOWN"        // this host has no list of packages that can be read
)

// Owner is what a used file belongs to.
type Owner struct {
	Kind    OwnerKind `json:"kind"`
	Name    string    `json:"name,omitempty"`
	Version string    `json:"version,omitempty"`
	// Root is the folder that the file is in, as far as it would make a tree of
	// its own: the standard library's, or that of files which nothing names.
	Root string `json:"root,omitempty"`
}

// owners finds the owners of files.
type owners struct {
	python        *Python
	stdlib        []string         // resolved
	prefixes      []string         // of the environment and its base, resolved, where they hold nothing else
	sites         []string         // resolved
	image         string           // of the interpreter, resolved
	distributions map[string]Owner // by path
	packages      systemPackages
}

// newOwners reads what is needed to name the owners of files: nothing of Python
// where none of them is below one of its folders.
func (h *Host) newOwners(ctx context.Context, files []*ClosureFile) *owners {
	o := &owners{distributions: map[string]Owner{}}
	if len(files) > 0 {
		if python, err := h.Python(ctx); err == nil {
			o.readPython(ctx, python, files)
		}
	}
	var paths []string
	for _, f := range files {
		paths = append(paths, f.Path)
	}
	o.packages = findSystemPackages(ctx, h.packages(), paths)
	return o
}

// packages is where the system's package database is.
func (h *Host) packages() string {
	if h.options.PackageDatabase != "" {
		return h.options.PackageDatabase
	}
	return "/var/lib/dpkg"
}

// readPython reads the interpreter's folders and the RECORDs of its
// distributions.
func (o *owners) readPython(ctx context.Context, p *Python, files []*ClosureFile) {
	o.python = p
	o.stdlib, o.sites = resolveAll(p.Stdlib), resolveAll(p.Site)
	prefixes := []string{p.Prefix}
	if image, err := filepath.EvalSymlinks(p.Executable); err == nil {
		o.image = image
		prefixes = append(prefixes, filepath.Dir(filepath.Dir(image)))
	}
	for _, prefix := range resolveAll(prefixes) {
		// These hold everybody's files.
		if !slices.Contains([]string{"/", "/usr", "/usr/local", "/opt"}, prefix) {
			o.prefixes = append(o.prefixes, prefix)
		}
	}
	if !slices.ContainsFunc(files, func(f *ClosureFile) bool { return isBelow(f.Path, o.sites) || isBelow(f.Path, o.prefixes) }) {
		return
	}
	wanted := map[string]bool{}
	for _, f := range files {
		wanted[sourceOf(f.Path)] = true
	}
	for _, name := range distributionNames(p.Site) {
		d, err := digest.FindDistribution(ctx, digest.Search{Paths: p.Site}, name)
		if err != nil {
			continue
		}
		for _, row := range d.Record.Rows {
			path := filepath.Join(d.Site, filepath.FromSlash(row.Path))
			if wanted[path] && !filepath.IsAbs(row.Path) {
				o.distributions[path] = Owner{Kind: OwnerDistribution, Name: d.Name, Version: d.Version}
			}
		}
	}
}

// distributionNames lists the names of the distributions in site folders.
func distributionNames(sites []string) []string {
	var names []string
	for _, site := range sites {
		entries, err := os.ReadDir(site)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if stem, ok := strings.CutSuffix(e.Name(), ".dist-info"); ok {
				name, _, _ := strings.Cut(stem, "-")
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// sourceOf is the path of the source that cached bytecode is of, or path itself:
// a/__pycache__/b.cpython-311.pyc is of a/b.py.
func sourceOf(path string) string {
	if !isBytecode(path) {
		return path
	}
	stem, _, _ := strings.Cut(filepath.Base(path), ".")
	return filepath.Join(filepath.Dir(filepath.Dir(path)), stem+".py")
}

// of is the owner of one file.
func (o *owners) of(f *ClosureFile) Owner {
	switch {
	case f.CoveredBy != "":
		return Owner{Kind: OwnerIdentity, Name: f.CoveredBy}
	case inScratch(f.Path):
		return Owner{Kind: OwnerScratch}
	case f.Coverage == Exempt && f.Kind != probe.FileDirectory && f.Kind != probe.FileLink:
		return Owner{Kind: OwnerKernel}
	case f.Coverage == Exempt:
		return Owner{Kind: OwnerNone}
	}
	if owner, ok := o.distributions[sourceOf(f.Path)]; ok {
		return owner
	}
	if owner, ok := o.interpreter(f.Path); ok {
		return owner
	}
	if owner, ok := o.packages.of(f.Path); ok {
		return owner
	}
	if o.packages.absent && isBelow(f.Path, []string{"/usr", "/bin", "/sbin", "/lib", "/lib64"}) {
		return Owner{Kind: OwnerUnknown}
	}
	return Owner{Kind: OwnerNone, Root: treeRoot(f.Path)}
}

// interpreter is the owner of a file of the interpreter's own.
func (o *owners) interpreter(path string) (Owner, bool) {
	if o.python == nil || isBelow(path, o.sites) {
		return Owner{}, false
	}
	owner := Owner{Kind: OwnerInterpreter, Name: "python", Version: o.python.Version}
	for _, dir := range o.stdlib {
		if isBelow(path, []string{dir}) {
			owner.Root = o.stdlib[0]
			if !isBelow(dir, o.stdlib[:1]) {
				owner.Root = dir
			}
			return owner, true
		}
	}
	return owner, path == o.image || isBelow(path, o.prefixes)
}

// treeRoot is the folder that would be declared as a tree for a file that nothing
// names; "" in the system's folders of configuration and of everybody's files,
// which make no sense as one.
func treeRoot(path string) string {
	dir := filepath.Dir(path)
	if isBelow(path, []string{"/etc", "/var", "/run", "/dev", "/usr"}) || strings.Count(dir, "/") < 2 {
		return ""
	}
	return dir
}

// isBelow reports whether path is one of dirs, or below one.
func isBelow(path string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool {
		return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
	})
}

// resolveAll resolves the links of folders; one that is not there is left out.
func resolveAll(dirs []string) []string {
	var out []string
	for _, dir := range dirs {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			out = append(out, real)
		}
	}
	return out
}
