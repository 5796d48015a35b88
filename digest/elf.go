package digest

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"strings"
)

// elfFile is what a dynamic loader wants to know of an ELF file.
type elfFile struct {
	class   elf.Class
	machine elf.Machine
	interp  string // program interpreter, "" for a library or a static program
	dynamic bool
	needed  []string
	soname  string
	rpath   []string
	runpath []string
	noDeflt bool // DF_1_NODEFLIB
}

const (
	// maxInterp is PATH_MAX.
	maxInterp = 4096
	// maxDynamic and maxStrings bound what a hostile header can make us read.
	maxDynamic = 1 << 20
	maxStrings = 64 << 20
	maxNeeded  = 4096
)

// errNotELF says that a file is something else than ELF, which is no fault.
const errNotELF = elfNotELF("not an ELF file")

type elfNotELF string

func (e elfNotELF) Error() string { return string(e) }

// readELF reads program headers and the dynamic segment. Section headers are
// not needed to run a program, and so may be absent or lie: they are not used.
func readELF(r *io.SectionReader) (elfFile, error) {
	var magic [4]byte
	if _, err := r.ReadAt(magic[:], 0); err != nil || string(magic[:]) != elf.ELFMAG {
		return elfFile{}, errNotELF
	}
	h, err := readHeader(r)
	if err != nil {
		return elfFile{}, err
	}
	f := elfFile{class: h.class, machine: h.machine}
	for _, p := range h.progs {
		switch p.typ {
		case elf.PT_INTERP:
			if p.filesz > maxInterp {
				return elfFile{}, errors.New("interpreter's path is longer than 4096 bytes")
			}
			b, err := section(r, p.off, p.filesz)
			if err != nil {
				return elfFile{}, err
			}
			f.interp = cString(b)
		case elf.PT_DYNAMIC:
			f.dynamic = true
			if err := f.readDynamic(r, h, p); err != nil {
				return elfFile{}, err
			}
		}
	}
	return f, nil
}

func section(r *io.SectionReader, off, size uint64) ([]byte, error) {
	if end := uint64(r.Size()); off > end || size > end-off {
		return nil, errors.New("header points outside the file")
	}
	b := make([]byte, size)
	if _, err := r.ReadAt(b, int64(off)); err != nil {
		return nil, fmt.Errorf("%d bytes at %d: %w", size, off, err)
	}
	return b, nil
}

func cString(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}

// readDynamic reads the entries of PT_DYNAMIC and the strings they point at.
func (f *elfFile) readDynamic(r *io.SectionReader, h elfHeader, p progHeader) error {
	if p.filesz > maxDynamic {
		return errors.New("dynamic segment is too large")
	}
	b, err := section(r, p.off, p.filesz)
	if err != nil {
		return err
	}
	var strtab, strsz uint64
	type ref struct {
		tag elf.DynTag
		off uint64
	}
	var refs []ref
	for word := h.word(); len(b) >= 2*word; b = b[2*word:] {
		tag, val := elf.DynTag(h.uint(b)), h.uint(b[word:])
		if tag == elf.DT_NULL {
			break
		}
		switch tag {
		case elf.DT_STRTAB:
			strtab = val
		case elf.DT_STRSZ:
			strsz = val
		case elf.DT_FLAGS_1:
			f.noDeflt = val&uint64(elf.DF_1_NODEFLIB) != 0
		case elf.DT_NEEDED, elf.DT_SONAME, elf.DT_RPATH, elf.DT_RUNPATH:
			refs = append(refs, ref{tag, val})
		}
	}
	if len(refs) == 0 {
		return nil
	}
	if strsz > maxStrings || len(refs) > maxNeeded {
		return errors.New("dynamic strings are too large")
	}
	off, ok := h.fileOffset(strtab, strsz)
	if !ok {
		return errors.New("dynamic strings are not in a loaded segment")
	}
	strs, err := section(r, off, strsz)
	if err != nil {
		return err
	}
	for _, ref := range refs {
		if ref.off >= uint64(len(strs)) {
			return errors.New("dynamic string out of range")
		}
		f.setString(ref.tag, cString(strs[ref.off:]))
	}
	return nil
}

func (f *elfFile) setString(tag elf.DynTag, s string) {
	switch tag {
	case elf.DT_NEEDED:
		f.needed = append(f.needed, s)
	case elf.DT_SONAME:
		f.soname = s
	case elf.DT_RPATH:
		f.rpath = strings.Split(s, ":")
	case elf.DT_RUNPATH:
		f.runpath = strings.Split(s, ":")
	}
}
