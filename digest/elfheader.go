package digest

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
)

// elfHeader is the part of the ELF header that leads to the program headers.
type elfHeader struct {
	class   elf.Class
	order   binary.ByteOrder
	machine elf.Machine
	progs   []progHeader
}

type progHeader struct {
	typ                elf.ProgType
	off, vaddr, filesz uint64
}

// maxProgs is far above any real program, and bounds what is read.
const maxProgs = 4096

func readHeader(r *io.SectionReader) (elfHeader, error) {
	b := make([]byte, 64)
	n, err := r.ReadAt(b, 0)
	if err != nil && err != io.EOF {
		return elfHeader{}, err
	}
	if n < 52 {
		return elfHeader{}, errors.New("ELF header is cut off")
	}
	h := elfHeader{class: elf.Class(b[elf.EI_CLASS])}
	switch elf.Data(b[elf.EI_DATA]) {
	case elf.ELFDATA2LSB:
		h.order = binary.LittleEndian
	case elf.ELFDATA2MSB:
		h.order = binary.BigEndian
	default:
		return elfHeader{}, errors.New("unknown byte order")
	}
	h.machine = elf.Machine(h.order.Uint16(b[18:]))
	var phoff uint64
	var entsize, count int
	switch h.class {
	case elf.ELFCLASS64:
		if n < 64 {
			return elfHeader{}, errors.New("ELF header is cut off")
		}
		phoff = h.order.Uint64(b[32:])
		entsize, count = int(h.order.Uint16(b[54:])), int(h.order.Uint16(b[56:]))
	case elf.ELFCLASS32:
		phoff = uint64(h.order.Uint32(b[28:]))
		entsize, count = int(h.order.Uint16(b[42:])), int(h.order.Uint16(b[44:]))
	default:
		return elfHeader{}, errors.New("neither 32-bit nor 64-bit")
	}
	if count == 0 {
		return h, nil
	}
	if count > maxProgs || entsize < h.progSize() || entsize > 4096 {
		return elfHeader{}, errors.New("program headers are of an impossible number or size")
	}
	table, err := section(r, phoff, uint64(entsize*count))
	if err != nil {
		return elfHeader{}, err
	}
	for i := range count {
		h.progs = append(h.progs, h.prog(table[i*entsize:]))
	}
	return h, nil
}

func (h elfHeader) progSize() int {
	if h.class == elf.ELFCLASS64 {
		return 56
	}
	return 32
}

func (h elfHeader) prog(b []byte) progHeader {
	p := progHeader{typ: elf.ProgType(h.order.Uint32(b))}
	if h.class == elf.ELFCLASS64 {
		p.off, p.vaddr, p.filesz = h.order.Uint64(b[8:]), h.order.Uint64(b[16:]), h.order.Uint64(b[32:])
		return p
	}
	p.off, p.vaddr, p.filesz = uint64(h.order.Uint32(b[4:])), uint64(h.order.Uint32(b[8:])), uint64(h.order.Uint32(b[16:]))
	return p
}

// word is the size of an address.
func (h elfHeader) word() int {
	if h.class == elf.ELFCLASS64 {
		return 8
	}
	return 4
}

func (h elfHeader) uint(b []byte) uint64 {
	if h.class == elf.ELFCLASS64 {
		return h.order.Uint64(b)
	}
	return uint64(h.order.Uint32(b))
}

// fileOffset translates an address range to where it lies in the file.
func (h elfHeader) fileOffset(vaddr, size uint64) (uint64, bool) {
	for _, p := range h.progs {
		if p.typ != elf.PT_LOAD || vaddr < p.vaddr {
			continue
		}
		if d := vaddr - p.vaddr; d <= p.filesz && size <= p.filesz-d && p.off+d >= p.off {
			return p.off + d, true
		}
	}
	return 0, false
}
