//go:build unix

package digest

import (
	"context"
	"debug/elf"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

const opLibraries = "shared libraries"

// Library is one shared library that a program loads at its start.
type Library struct {
	Name       string `json:"name"` // as it is asked for
	Path       string `json:"path"` // absolute, links resolved
	Size       int64  `json:"size"`
	File       FileID `json:"file"`
	RequiredBy string `json:"required_by"` // path of the first that asks for it
}

// MissingLibrary is one that was not found in any place the loader looks.
type MissingLibrary struct {
	Name       string `json:"name"`
	RequiredBy string `json:"required_by"`
}

// Libraries is the set that a program's loader maps before main.
type Libraries struct {
	// Interpreter is the dynamic loader itself; nil for a static program.
	Interpreter *Library         `json:"interpreter,omitempty"`
	Files       []Library        `json:"files"` // in the loader's order, without the interpreter
	Missing     []MissingLibrary `json:"missing,omitempty"`
	// Reason says why there is nothing: not ELF, or statically linked.
	Reason string `json:"reason,omitempty"`
}

// Bytes adds up the sizes, the interpreter's too, each inode once.
func (l Libraries) Bytes() int64 {
	var files []InstalledFile
	for _, f := range l.Files {
		files = append(files, InstalledFile{Size: f.Size, File: f.File})
	}
	if l.Interpreter != nil {
		files = append(files, InstalledFile{Size: l.Interpreter.Size, File: l.Interpreter.File})
	}
	return InstalledBytes(files)
}

// maxLibraries bounds the closure.
const maxLibraries = 4096

// SharedLibraries returns the libraries that the program at path, and they in
// turn, name in DT_NEEDED, found where glibc's or musl's loader looks: RPATH of
// the asking file and of those that led to it, RUNPATH, the directories of
// /etc/ld.so.conf, and the system's own; $ORIGIN and $LIB are replaced. Nothing
// is run.
//
// Not covered: LD_LIBRARY_PATH and LD_PRELOAD, which a probe's environment
// doesn't have; libraries opened later by dlopen(3); the variants for newer
// processors that glibc keeps in glibc-hwcaps; and a stale /etc/ld.so.cache.
//
// A file that isn't ELF has no libraries and a Reason. A malformed ELF file
// fails with [CodeELFMalformed].
func SharedLibraries(ctx context.Context, path string) (Libraries, error) {
	return (&loader{ctx: ctx}).program(path)
}

// loader finds libraries as a dynamic loader does.
type loader struct {
	ctx  context.Context //nolint:containedctx // lives for one call
	root string          // put before system directories; "" but in tests
	dirs []string        // of the system, in order
	musl bool
}

// loaded is one file in the set, with the chain that led to it.
type loaded struct {
	path   string
	elf    elfFile
	parent *loaded
}

func (l *loader) program(path string) (Libraries, error) {
	resolved, err := resolve(opLibraries, path)
	if err != nil {
		return Libraries{}, err
	}
	f, _, err := openELF(resolved)
	if err == errNotELF {
		return Libraries{Reason: "not an ELF file"}, nil
	}
	if err != nil {
		return Libraries{}, err
	}
	if !f.dynamic || len(f.needed) == 0 && f.interp == "" {
		return Libraries{Reason: "statically linked"}, nil
	}
	var out Libraries
	seen := map[string]bool{}
	if f.interp != "" {
		lib, ok, err := l.interpreter(f, resolved)
		if err != nil {
			return Libraries{}, err
		}
		if ok {
			out.Interpreter = &lib
			seen[filepath.Base(f.interp)] = true
		} else {
			out.Missing = append(out.Missing, MissingLibrary{f.interp, resolved})
		}
	}
	l.system(f)
	return out, l.closure(&loaded{path: resolved, elf: f}, seen, &out)
}

func (l *loader) interpreter(f elfFile, by string) (Library, bool, error) {
	if !filepath.IsAbs(f.interp) {
		return Library{}, false, nil
	}
	st, resolved, ok, err := l.stat(l.root + f.interp)
	if err != nil || !ok {
		return Library{}, false, err
	}
	return Library{Name: f.interp, Path: resolved, Size: st.Size, File: fileID(&st), RequiredBy: by}, true, nil
}

// closure goes through the requests breadth first, as loaders do.
func (l *loader) closure(top *loaded, seen map[string]bool, out *Libraries) error {
	queue := []*loaded{top}
	paths := map[string]bool{}
	for len(queue) > 0 {
		by := queue[0]
		queue = queue[1:]
		for _, name := range by.elf.needed {
			if err := cancelled(l.ctx, opLibraries); err != nil {
				return err
			}
			if name == "" || seen[name] || l.musl && muslBuiltin(name) {
				continue
			}
			seen[name] = true
			lib, f, ok, err := l.find(name, by)
			if err != nil {
				return err
			}
			if !ok {
				out.Missing = append(out.Missing, MissingLibrary{name, by.path})
				continue
			}
			if paths[lib.Path] || out.Interpreter != nil && lib.File.Same(out.Interpreter.File) {
				continue // two names of one file are loaded once
			}
			paths[lib.Path] = true
			if f.soname != "" {
				seen[f.soname] = true
			}
			if len(out.Files) >= maxLibraries {
				return fail(CodeTooLarge, opLibraries, top.path, "more than %d libraries", maxLibraries)
			}
			out.Files = append(out.Files, lib)
			queue = append(queue, &loaded{path: lib.Path, elf: f, parent: by})
		}
	}
	return nil
}

// muslBuiltin names what musl's loader, being libc itself, provides.
func muslBuiltin(name string) bool {
	switch name {
	case "libc.so", "libpthread.so", "librt.so", "libm.so", "libdl.so", "libutil.so", "libxnet.so":
		return true
	default:
		return strings.HasPrefix(name, "libc.musl-")
	}
}

// find returns the file that the loader would map for one request.
func (l *loader) find(name string, by *loaded) (Library, elfFile, bool, error) {
	tries := []string{name}
	if !strings.Contains(name, "/") {
		tries = tries[:0]
		for _, dir := range l.searchDirs(by) {
			tries = append(tries, dir+"/"+name)
		}
	} else if expanded := l.expand([]string{name}, by.path); len(expanded) > 0 {
		tries = expanded
	}
	for _, try := range tries {
		if !filepath.IsAbs(try) {
			continue // relative to a working directory that isn't known
		}
		st, resolved, ok, err := l.stat(try)
		if err != nil {
			return Library{}, elfFile{}, false, err
		}
		if !ok {
			continue
		}
		f, _, err := openELF(resolved)
		if err != nil || f.class != by.elf.class || f.machine != by.elf.machine {
			continue // of another architecture, or no library: the loader goes on
		}
		return Library{Name: name, Path: resolved, Size: st.Size, File: fileID(&st), RequiredBy: by.path}, f, true, nil
	}
	return Library{}, elfFile{}, false, nil
}

// searchDirs are the directories for a name without a slash, in order.
func (l *loader) searchDirs(by *loaded) []string {
	var dirs []string
	if l.musl {
		// musl knows no difference, and goes up the chain for both.
		for f := by; f != nil; f = f.parent {
			dirs = append(dirs, l.expand(slices.Concat(f.elf.rpath, f.elf.runpath), f.path)...)
		}
		return append(dirs, l.dirs...)
	}
	if by.elf.runpath == nil {
		for f := by; f != nil; f = f.parent {
			if f.elf.runpath == nil {
				dirs = append(dirs, l.expand(f.elf.rpath, f.path)...)
			}
		}
	}
	dirs = append(dirs, l.expand(by.elf.runpath, by.path)...)
	if by.elf.noDeflt {
		return dirs
	}
	return append(dirs, l.dirs...)
}

// expand replaces the loader's variables. A place with one that isn't known here
// is left out.
func (l *loader) expand(list []string, from string) []string {
	var out []string
	for _, dir := range list {
		for _, v := range []string{"ORIGIN", "PLATFORM"} {
			dir = strings.ReplaceAll(dir, "${"+v+"}", "$"+v)
		}
		dir = strings.ReplaceAll(dir, "$ORIGIN", filepath.Dir(from))
		dir = strings.ReplaceAll(dir, "${LIB}", "$LIB")
		if !strings.Contains(dir, "$LIB") {
			dir = strings.TrimSuffix(dir, "/")
			if filepath.IsAbs(dir) && !strings.Contains(dir, "$") {
				out = append(out, dir)
			}
			continue
		}
		for _, lib := range []string{"lib64", "lib"} {
			d := strings.TrimSuffix(strings.ReplaceAll(dir, "$LIB", lib), "/")
			if filepath.IsAbs(d) && !strings.Contains(d, "$") {
				out = append(out, d)
			}
		}
	}
	return out
}

// system fills in the directories that the host's loader uses for any program.
func (l *loader) system(f elfFile) {
	c := &confReader{ctx: l.ctx, root: l.root}
	triple := multiarch(f)
	base := filepath.Base(f.interp)
	if strings.HasPrefix(base, "ld-musl-") {
		l.musl = true
		l.dirs = l.muslDirs(strings.TrimSuffix(strings.TrimPrefix(base, "ld-musl-"), ".so.1"))
		return
	}
	c.read("/etc/ld.so.conf", 0)
	dirs := c.dirs
	if triple != "" {
		dirs = append(dirs, "/lib/"+triple, "/usr/lib/"+triple)
	}
	if f.class == elf.ELFCLASS64 {
		dirs = append(dirs, "/lib64", "/usr/lib64")
	}
	dirs = append(dirs, "/lib", "/usr/lib")
	for i := range dirs {
		dirs[i] = l.root + dirs[i]
	}
	l.dirs = dirs
}

// muslDirs reads /etc/ld-musl-ARCH.path: directories between newlines or colons.
func (l *loader) muslDirs(arch string) []string {
	data, ok := readConf(l.ctx, l.root+"/etc/ld-musl-"+arch+".path")
	if !ok {
		return []string{l.root + "/lib", l.root + "/usr/local/lib", l.root + "/usr/lib"}
	}
	var dirs []string
	for _, dir := range strings.FieldsFunc(string(data), func(r rune) bool { return r == '\n' || r == ':' }) {
		if filepath.IsAbs(dir) {
			dirs = append(dirs, l.root+filepath.Clean(dir))
		}
	}
	return dirs
}

// multiarch is Debian's name for the architecture, part of the default
// directories of its loader.
func multiarch(f elfFile) string {
	switch f.machine {
	case elf.EM_X86_64:
		return "x86_64-linux-gnu"
	case elf.EM_AARCH64:
		return "aarch64-linux-gnu"
	case elf.EM_386:
		return "i386-linux-gnu"
	case elf.EM_RISCV:
		return "riscv64-linux-gnu"
	case elf.EM_PPC64:
		return "powerpc64le-linux-gnu"
	case elf.EM_S390:
		return "s390x-linux-gnu"
	default:
		return ""
	}
}

// stat says whether a regular file is at path, links followed. Only what makes
// the answer unknown is an error.
func (l *loader) stat(path string) (unix.Stat_t, string, bool, error) {
	var st unix.Stat_t
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		e := sysFail(opLibraries, path, err)
		if e.Code == CodeDescriptorLimit {
			return st, "", false, e
		}
		return st, "", false, nil
	}
	if err := lstatat(unix.AT_FDCWD, resolved, &st); err != nil {
		return st, "", false, nil
	}
	return st, resolved, kindOf(&st) == kindRegular, nil
}

// openELF reads the headers of the regular file at a path without links.
func openELF(path string) (elfFile, FileID, error) {
	fd, st, err := openResolved(opLibraries, path)
	if err != nil {
		return elfFile{}, FileID{}, err
	}
	file := os.NewFile(uintptr(fd), path)
	defer file.Close() //nolint:errcheck // opened for reading
	f, err := readELF(io.NewSectionReader(file, 0, st.Size))
	if err != nil && err != errNotELF {
		return elfFile{}, FileID{}, &Error{Code: CodeELFMalformed, Op: opLibraries, Path: path, Err: err}
	}
	return f, fileID(&st), err
}
