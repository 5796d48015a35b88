//go:build unix

package digest

import (
	"context"
	"errors"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

const opInventory = "inventory"

// InstalledFile is a recorded file that is there.
type InstalledFile struct {
	Path  string `json:"path"`  // absolute
	Row   Row    `json:"row"`   // the first row that names it
	Size  int64  `json:"size"`  // measured, not recorded
	File  FileID `json:"file"`  // from lstat
	Links uint64 `json:"links"` // names of this inode, here or elsewhere
}

// RefusedRow is a row whose file must not be touched, or can't be measured.
type RefusedRow struct {
	Row  Row    `json:"row"`
	Code Code   `json:"code"`
	Why  string `json:"why"`
}

// CodeOutside is the reason of a refused row: it is absolute, or leads out of
// the environment. It is never opened, nor even looked at.
const CodeOutside Code = "digest.outside_environment"

// Inventory is what is on disk of a distribution's RECORD.
type Inventory struct {
	Files   []InstalledFile `json:"files"`   // in RECORD order, each file once
	Missing []Row           `json:"missing"` // named, and not there
	Refused []RefusedRow    `json:"refused"`
	// Unverifiable are bytecode rows without a hash, there or not: Python makes
	// and drops these files by itself. Those that are there are in Files too.
	Unverifiable []Row `json:"unverifiable"`
}

// InstalledBytes adds up sizes, counting an inode that has several names once.
func InstalledBytes(files []InstalledFile) int64 {
	type inode struct{ dev, ino uint64 }
	seen := make(map[inode]bool)
	var n int64
	for _, f := range files {
		if id := (inode{f.File.Dev, f.File.Ino}); !seen[id] {
			seen[id] = true
			n += f.Size
		}
	}
	return n
}

// Bytes is [InstalledBytes] of Files.
func (i Inventory) Bytes() int64 { return InstalledBytes(i.Files) }

// Inventory looks at each recorded file with lstat, relative to descriptors of
// the directories on the way to it. No link is followed and no file is opened.
// A row that is absolute, that leads out of Prefix, that passes through a link,
// or that names anything but a regular file, is in Refused. A hashless row of
// bytecode below __pycache__ that isn't there is no fault; any other absent file
// is in Missing.
//
// It fails only for what makes the answer unknown: [CodePermission], [CodeIO],
// [CodeDescriptorLimit], [CodeCancelled].
func (d *Distribution) Inventory(ctx context.Context) (Inventory, error) {
	r, err := d.resolver(opInventory)
	if err != nil {
		return Inventory{}, err
	}
	defer r.close()
	var inv Inventory
	seen := make(map[string]bool, len(d.Record.Rows))
	for _, row := range d.Record.Rows {
		if err := cancelled(ctx, opInventory); err != nil {
			return Inventory{}, err
		}
		bytecode := isBytecodeRow(row)
		if bytecode {
			inv.Unverifiable = append(inv.Unverifiable, row)
		}
		st, where, err := r.lstat(row)
		var refused *rowFault
		switch {
		case errors.As(err, &refused):
			inv.Refused = append(inv.Refused, RefusedRow{row, refused.code, refused.why})
		case isCode(err, CodeNotFound):
			if !bytecode {
				inv.Missing = append(inv.Missing, row)
			}
		case err != nil:
			return Inventory{}, err
		case !seen[where]:
			seen[where] = true
			inv.Files = append(inv.Files, InstalledFile{
				Path: where, Row: row, Size: st.Size, File: fileID(&st), Links: uint64(st.Nlink), //nolint:unconvert // 16 bits on darwin
			})
		}
	}
	return inv, nil
}

func isBytecodeRow(row Row) bool {
	return !row.Hashed && strings.HasSuffix(row.Path, ".pyc") && path.Base(path.Dir(row.Path)) == bytecodeDir
}

// rowFault is why a row is refused.
type rowFault struct {
	code Code
	why  string
}

func (f *rowFault) Error() string { return f.why }

// resolver opens recorded paths below the environment root without following
// links, and keeps the directories that it used last.
type resolver struct {
	op     string
	prefix string
	site   string // relative to prefix, "" if it is
	dirs   map[string]int
	order  []string // of dirs, oldest first
}

// maxResolverDirs bounds the open directories.
const maxResolverDirs = 64

func (d *Distribution) resolver(op string) (*resolver, error) {
	if d.Record == nil || !within(d.Site, d.Prefix) {
		return nil, fail(CodeInvalidArgument, op, d.Site, "not a distribution made by FindDistribution")
	}
	fd, _, err := openRoot(op, d.Prefix)
	if err != nil {
		return nil, err
	}
	site := strings.TrimPrefix(strings.TrimPrefix(d.Site, d.Prefix), "/")
	return &resolver{op: op, prefix: d.Prefix, site: site, dirs: map[string]int{"": fd}}, nil
}

func (r *resolver) close() {
	for _, fd := range r.dirs {
		_ = unix.Close(fd)
	}
}

// locate gives the place of a row relative to the prefix, by text alone: no
// part of it is a link if the file is then found.
func (r *resolver) locate(row Row) (string, error) {
	if strings.HasPrefix(row.Path, "/") {
		return "", &rowFault{CodeOutside, "absolute path"}
	}
	rel := path.Join(r.site, row.Path)
	// Joined to a relative path, a climb above the prefix keeps its leading ..,
	// even if it comes back in by name.
	if rel == ".." || strings.HasPrefix(rel, "../") {
		return "", &rowFault{CodeOutside, "leads out of the environment"}
	}
	if rel == "." || rel == "" {
		return "", &rowFault{CodeOutside, "names the environment itself"}
	}
	return rel, nil
}

// dir returns a descriptor of a directory below the prefix, kept by r.
func (r *resolver) dir(rel string) (int, error) {
	if fd, ok := r.dirs[rel]; ok {
		return fd, nil
	}
	up, err := r.dir(parentOf(rel))
	if err != nil {
		return -1, err
	}
	name := path.Base(rel)
	fd, err := openat(up, name, openDir)
	if err != nil {
		switch kind, kerr := kindAt(up, name); {
		case kerr == nil && kind == kindSymlink:
			return -1, &rowFault{CodeNotRegular, "leads through the symbolic link " + quote(under(r.prefix, rel))}
		default:
			return -1, sysFail(r.op, under(r.prefix, rel), err)
		}
	}
	if len(r.order) >= maxResolverDirs {
		_ = unix.Close(r.dirs[r.order[0]])
		delete(r.dirs, r.order[0])
		r.order = r.order[1:]
	}
	r.dirs[rel] = fd
	r.order = append(r.order, rel)
	return fd, nil
}

// under joins a clean root, which may be /, and a clean relative path.
func under(root, rel string) string { return strings.TrimSuffix(root, "/") + "/" + rel }

// parentOf returns the directory part of a clean relative path, "" at the top.
func parentOf(rel string) string { return rel[:max(strings.LastIndexByte(rel, '/'), 0)] }

// lstat returns the state of a recorded regular file and its absolute path.
func (r *resolver) lstat(row Row) (st unix.Stat_t, where string, err error) {
	rel, err := r.locate(row)
	if err != nil {
		return st, "", err
	}
	dir, err := r.dir(parentOf(rel))
	if err != nil {
		return st, "", err
	}
	where = under(r.prefix, rel)
	if err := lstatat(dir, path.Base(rel), &st); err != nil {
		return st, where, sysFail(r.op, where, err)
	}
	if k := kindOf(&st); k != kindRegular {
		return st, where, &rowFault{CodeNotRegular, k.String()}
	}
	return st, where, nil
}
