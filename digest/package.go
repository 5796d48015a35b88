//go:build unix

package digest

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// PythonPackage returns the SOURCE_TREE digest of the top-level package of an
// entrypoint module.sub:attribute in [FormatPackageV2]: SHA-256 over the
// format's name, NUL, the top-level name, NUL, and for each regular file of the
// package in byte order of its name
//
//	name length    8 bytes, big endian
//	name           0:top/path, or top.py for a package that is one module
//	content length 8 bytes, big endian
//	content
//
// The package is the first on searchPath that Python would take, found without
// importing: a directory with __init__.py, or a .py file. A namespace package
// ([CodeNamespacePackage]), an extension module and a link are refused, not
// passed over. The entrypoint's module must exist as source in the package; its
// attribute is not looked for. What [Tree] says about links, special files,
// __pycache__ and changes holds here too. File modes are not covered.
func PythonPackage(ctx context.Context, searchPath []string, entrypoint string, opts TreeOptions) (TreeResult, error) {
	opts, err := opts.checked(opPackage)
	if err != nil {
		return TreeResult{}, err
	}
	if len(opts.Exclude) > 0 {
		return TreeResult{}, fail(CodeExclusionInvalid, opPackage, "", "%s has no exclusions", FormatPackageV2)
	}
	ep, err := parseEntrypoint(entrypoint)
	if err != nil {
		return TreeResult{}, err
	}
	found, err := findTopLevel(searchPath, ep.parts[0])
	if err != nil {
		return TreeResult{}, err
	}
	h := &packageHash{ctx: ctx, top: ep.parts[0], collect: opts.CollectFiles, outer: sha256.New(), buf: make([]byte, blockSize)}
	h.outer.Write([]byte(string(FormatPackageV2) + "\x00" + h.top + "\x00"))
	h.res = TreeResult{Format: FormatPackageV2, Root: found.path, TopLevel: h.top}
	if found.file {
		err = h.module(found, ep)
	} else {
		err = h.directory(found, ep, opts.MaxDepth)
	}
	if err != nil {
		return TreeResult{}, err
	}
	h.res.Digest = sum(h.outer)
	return h.res, nil
}

// topLevel is where a top-level package lies.
type topLevel struct {
	path string
	file bool // one module, not a directory
}

// findTopLevel looks along the search path as Python does, but stops at what
// can't be measured instead of passing it over.
func findTopLevel(searchPath []string, top string) (topLevel, error) {
	namespace := ""
	for _, dir := range searchPath {
		if dir == "" || strings.IndexByte(dir, 0) >= 0 {
			return topLevel{}, fail(CodeInvalidArgument, opPackage, dir, "search path entry is empty or holds NUL")
		}
		dir, err := absolute(opPackage, dir)
		if err != nil {
			return topLevel{}, err
		}
		base := filepath.Join(dir, top)
		kind, err := kindOfPath(base)
		if err != nil {
			return topLevel{}, err
		}
		switch kind {
		case kindDirectory:
			init, err := kindOfPath(base + "/__init__.py")
			if err != nil {
				return topLevel{}, err
			}
			if init != kindGone && init != kindDirectory {
				return topLevel{path: base}, nil
			}
			if namespace == "" {
				namespace = base
			}
		case kindSymlink:
			return topLevel{}, fail(CodeNotRegular, opPackage, base, "package is a %s", kind)
		}
		if ext := extensionModule(dir, top); ext != "" {
			return topLevel{}, fail(CodeModuleNotFound, opPackage, ext, "an extension module takes the place of a source package")
		}
		kind, err = kindOfPath(base + ".py")
		if err != nil {
			return topLevel{}, err
		}
		switch kind {
		case kindRegular:
			return topLevel{path: base + ".py", file: true}, nil
		case kindGone, kindDirectory:
		default:
			return topLevel{}, fail(CodeNotRegular, opPackage, base+".py", "module is a %s", kind)
		}
	}
	if namespace != "" {
		return topLevel{}, fail(CodeNamespacePackage, opPackage, namespace, "namespace package: no __init__.py")
	}
	return topLevel{}, fail(CodeModuleNotFound, opPackage, "", "no package or module %q on the search path", top)
}

// kindOfPath is lstat; what isn't there is kindGone.
func kindOfPath(path string) (entryKind, error) {
	var st unix.Stat_t
	switch err := lstatat(unix.AT_FDCWD, path, &st); err {
	case nil:
		return kindOf(&st), nil
	case unix.ENOENT, unix.ENOTDIR:
		return kindGone, nil
	default:
		return kindUnknown, sysFail(opPackage, path, err)
	}
}

// packageHash computes one FormatPackageV2 digest. The format puts contents, not
// their hashes, into one stream, so that files can't be hashed side by side.
type packageHash struct {
	ctx     context.Context //nolint:containedctx // lives for one call
	top     string
	collect bool
	outer   hash.Hash
	inner   hash.Hash
	buf     []byte
	scratch []byte
	wanted  string // path of the entrypoint's module file below the root
	seen    bool   // whether wanted was visited
	res     TreeResult
}

// add covers one file under its name in the preimage.
func (h *packageHash) add(name, path, rel string, dirfd int, base string) error {
	fd, st, err := regularAt(opPackage, path, dirfd, base)
	if err != nil {
		return err
	}
	defer unix.Close(fd) //nolint:errcheck // opened for reading
	b := binary.BigEndian.AppendUint64(h.scratch[:0], uint64(len(name)))
	b = append(b, name...)
	b = binary.BigEndian.AppendUint64(b, uint64(st.Size))
	h.outer.Write(b)
	h.scratch = b
	sink := func(p []byte) { h.outer.Write(p) }
	if h.collect {
		h.inner = sha256.New()
		sink = func(p []byte) { h.outer.Write(p); h.inner.Write(p) }
	}
	if err := readAll(h.ctx, opPackage, path, fd, &st, h.buf, sink); err != nil {
		return err
	}
	h.res.Files++
	h.res.Bytes += st.Size
	if h.collect {
		h.res.Entries = append(h.res.Entries, TreeEntry{
			Path: rel, Size: st.Size, Executable: ownerExecutes(&st), File: fileID(&st),
			Links: uint64(st.Nlink), Digest: sum(h.inner), //nolint:unconvert // 16 bits on darwin
		})
	}
	return nil
}

// module covers a package that is one .py file.
func (h *packageHash) module(found topLevel, ep entrypoint) error {
	if len(ep.parts) > 1 {
		return fail(CodeModuleNotFound, opPackage, found.path, "%s is a module, so %s can't be in it", ep.parts[0], strings.Join(ep.parts, "."))
	}
	dir, base := filepath.Split(found.path)
	fd, err := openat(unix.AT_FDCWD, dir, openDir&^unix.O_NOFOLLOW)
	if err != nil {
		return sysFail(opPackage, dir, err)
	}
	defer unix.Close(fd) //nolint:errcheck // opened for reading
	h.res.ModuleFile = found.path
	return h.add(base, found.path, base, fd, base)
}

// directory covers a package that is a directory.
func (h *packageHash) directory(found topLevel, ep entrypoint, maxDepth int) error {
	if err := h.locate(found.path, ep.parts[1:]); err != nil {
		return err
	}
	fd, id, err := openRoot(opPackage, found.path)
	if err != nil {
		return err
	}
	w := &walker{ctx: h.ctx, op: opPackage, root: found.path, maxDepth: maxDepth}
	w.visit = func(dir *dirHandle, path []byte, name int) error {
		rel := string(path)
		h.seen = h.seen || rel == h.wanted
		return h.add("0:"+h.top+"/"+rel, found.path+"/"+rel, rel, dir.fd, rel[name:])
	}
	if err := w.run(fd, id); err != nil {
		return err
	}
	if !h.seen {
		return fail(CodeChanged, opPackage, h.res.ModuleFile, "disappeared while the package was measured")
	}
	return nil
}

// locate finds the source of the entrypoint's module below root.
func (h *packageHash) locate(root string, parts []string) error {
	rel := strings.Join(parts, "/")
	tries := []string{"__init__.py"}
	if rel != "" {
		// As Python does: a package goes before a module of the same name.
		tries = []string{rel + "/__init__.py", rel + ".py"}
	}
	for _, try := range tries {
		kind, err := kindOfPath(root + "/" + try)
		if err != nil {
			return err
		}
		switch kind {
		case kindRegular:
			h.wanted, h.res.ModuleFile = try, root+"/"+try
			return nil
		case kindGone, kindDirectory:
		default:
			return fail(CodeNotRegular, opPackage, root+"/"+try, "module is a %s", kind)
		}
	}
	return fail(CodeModuleNotFound, opPackage, root, "no source of module %s.%s in the package", h.top, strings.Join(parts, "."))
}
