//go:build unix

package digest

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-measure/provider-measure/internal/testenv"
)

// makeELF builds the smallest file that a loader would understand: headers, an
// interpreter, a dynamic segment with these strings, no sections.
func makeELF(machine elf.Machine, interp, soname, rpath, runpath string, needed ...string) []byte {
	var strs bytes.Buffer
	strs.WriteByte(0)
	str := func(s string) uint64 {
		off := strs.Len()
		strs.WriteString(s + "\x00")
		return uint64(off)
	}
	var dyn []uint64
	for _, n := range needed {
		dyn = append(dyn, uint64(elf.DT_NEEDED), str(n))
	}
	for tag, s := range map[elf.DynTag]string{elf.DT_SONAME: soname, elf.DT_RPATH: rpath, elf.DT_RUNPATH: runpath} {
		if s != "" {
			dyn = append(dyn, uint64(tag), str(s))
		}
	}
	const vbase, phoff, phnum = 0x400000, 64, 3
	interpOff := uint64(phoff + 56*phnum)
	interpB := append([]byte(interp), 0)
	strOff := interpOff + uint64(len(interpB))
	dynOff := strOff + uint64(strs.Len())
	dyn = append(dyn, uint64(elf.DT_STRTAB), vbase+strOff, uint64(elf.DT_STRSZ), uint64(strs.Len()), 0, 0)
	total := dynOff + uint64(8*len(dyn))
	le := binary.LittleEndian
	b := []byte("\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	b = le.AppendUint16(b, uint16(elf.ET_DYN))
	b = le.AppendUint16(b, uint16(machine))
	b = le.AppendUint32(b, 1)
	for _, v := range []uint64{0, phoff, 0} {
		b = le.AppendUint64(b, v)
	}
	b = le.AppendUint32(b, 0)
	for _, v := range []uint16{64, 56, phnum, 0, 0, 0} {
		b = le.AppendUint16(b, v)
	}
	prog := func(typ elf.ProgType, off, size uint64) {
		b = le.AppendUint32(le.AppendUint32(b, uint32(typ)), 4)
		for _, v := range []uint64{off, vbase + off, vbase + off, size, size, 1} {
			b = le.AppendUint64(b, v)
		}
	}
	prog(elf.PT_LOAD, 0, total)
	prog(elf.PT_DYNAMIC, dynOff, uint64(8*len(dyn)))
	if interp == "" {
		prog(elf.PT_NULL, 0, 0)
	} else {
		prog(elf.PT_INTERP, interpOff, uint64(len(interpB)))
	}
	b = append(append(b, interpB...), strs.Bytes()...)
	for _, v := range dyn {
		b = le.AppendUint64(b, v)
	}
	return b
}

func names(libs []Library) []string {
	var out []string
	for _, l := range libs {
		out = append(out, l.Name)
	}
	return out
}

// sysroot is a small system with its own loader configuration.
func sysroot(t *testing.T) (root string, put func(path string, b []byte)) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	return root, func(path string, b []byte) { write(t, filepath.Join(root, path), string(b)) }
}

func TestLibraryClosure(t *testing.T) {
	const x86, interp = elf.EM_X86_64, "/lib64/ld-linux-x86-64.so.2"
	root, put := sysroot(t)
	put(interp, makeELF(x86, "", "ld-linux-x86-64.so.2", "", ""))
	put("/etc/ld.so.conf", []byte("include ld.so.conf.d/*.conf\ninclude /etc/ld.so.conf\n/conf/last\n"))
	put("/etc/ld.so.conf.d/a.conf", []byte("/conf/a # comment\n"))
	put("/conf/a/libconf.so.1", makeELF(x86, "", "libconf.so.1", "", "", "libdeep.so", "libc.so.6"))
	put("/conf/last/libarch.so", makeELF(x86, "", "", "", ""))
	put("/conf/a/libarch.so", makeELF(elf.EM_AARCH64, "", "", "", ""))
	put("/lib/x86_64-linux-gnu/libc.so.6.1", makeELF(x86, "", "libc.so.6", "", "", "ld-linux-x86-64.so.2"))
	put("/usr/lib/libdeep.so", makeELF(x86, "", "", "", "", "librun.so"))
	put("/app/lib/librun.so", makeELF(x86, "", "", "", ""))
	put("/app/lib/librpath.so", makeELF(x86, "", "", "", "", "libviaparent.so"))
	put("/app/lib/libviaparent.so", makeELF(x86, "", "", "", ""))
	must(t, os.Symlink("libc.so.6.1", filepath.Join(root, "lib/x86_64-linux-gnu/libc.so.6")))
	run := func(path string) Libraries {
		t.Helper()
		libs, err := (&loader{ctx: t.Context(), root: root}).program(filepath.Join(root, path))
		must(t, err)
		return libs
	}

	put("/app/bin/runpath", makeELF(x86, interp, "", "", "$ORIGIN/../lib", "librun.so", "libconf.so.1", "libarch.so", "libnone.so", "libc.so.6"))
	libs := run("/app/bin/runpath")
	if diff := cmp.Diff([]string{"librun.so", "libconf.so.1", "libarch.so", "libc.so.6", "libdeep.so"}, names(libs.Files)); diff != "" {
		t.Error(diff)
	}
	if len(libs.Missing) != 1 || libs.Missing[0].Name != "libnone.so" || libs.Interpreter == nil || libs.Interpreter.Path != root+interp {
		t.Errorf("%+v", libs)
	}
	for _, l := range libs.Files {
		if l.Name == "libc.so.6" && filepath.Base(l.Path) != "libc.so.6.1" || l.Name == "libarch.so" && filepath.Base(filepath.Dir(l.Path)) != "last" {
			t.Errorf("%+v", l)
		}
	}

	// RUNPATH is for the file's own requests, RPATH for those below it too.
	put("/app/bin/runpath2", makeELF(x86, interp, "", "", "${ORIGIN}/../lib", "librpath.so"))
	if libs := run("/app/bin/runpath2"); len(libs.Missing) != 1 || libs.Missing[0].Name != "libviaparent.so" {
		t.Errorf("%+v", libs)
	}
	put("/app/bin/rpath", makeELF(x86, interp, "", "$ORIGIN/../lib", "", "librpath.so"))
	if libs := run("/app/bin/rpath"); len(libs.Missing) != 0 || !slices.Equal(names(libs.Files), []string{"librpath.so", "libviaparent.so"}) {
		t.Errorf("%+v", libs)
	}
}

func TestLibrariesMusl(t *testing.T) {
	root, put := sysroot(t)
	const interp = "/lib/ld-musl-x86_64.so.1"
	put(interp, makeELF(elf.EM_X86_64, "", "", "", ""))
	put("/etc/ld-musl-x86_64.path", []byte("/m1:/m2\n"))
	put("/m2/libz.so.1", makeELF(elf.EM_X86_64, "", "", "", "", "libc.musl-x86_64.so.1"))
	put("/bin/tool", makeELF(elf.EM_X86_64, interp, "", "", "", "libz.so.1", "libc.so"))
	libs, err := (&loader{ctx: t.Context(), root: root}).program(root + "/bin/tool")
	if err != nil || len(libs.Files) != 1 || len(libs.Missing) != 0 {
		t.Errorf("%+v, %v", libs, err)
	}
}

func TestSharedLibrariesReasons(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "script"), "#!/bin/sh\n")
	write(t, filepath.Join(dir, "empty"), "")
	write(t, filepath.Join(dir, "cut"), "\x7fELF\x02\x01")
	good := makeELF(elf.EM_X86_64, "/lib/ld.so", "", "", "", "libx.so")
	bad := slices.Clone(good)
	binary.LittleEndian.PutUint64(bad[32:], 1<<60) // program headers far away
	write(t, filepath.Join(dir, "bad"), string(bad))
	for _, name := range []string{"script", "empty"} {
		libs, err := SharedLibraries(t.Context(), filepath.Join(dir, name))
		if err != nil || libs.Reason != "not an ELF file" || len(libs.Files) != 0 {
			t.Errorf("%s: %+v, %v", name, libs, err)
		}
	}
	for name, want := range map[string]Code{"cut": CodeELFMalformed, "bad": CodeELFMalformed, "absent": CodeNotFound, ".": CodeNotRegular} {
		if libs, err := SharedLibraries(t.Context(), filepath.Join(dir, name)); !errors.Is(err, want) || libs.Files != nil {
			t.Errorf("%s: %+v, %v; want %s", name, libs, err, want)
		}
	}
}

// The programs of this host: nothing may be missing, and each file is real.
func TestSharedLibrariesOfHost(t *testing.T) {
	self, err := os.Executable()
	must(t, err)
	for _, path := range []string{"/bin/sh", "/usr/bin/env", self} {
		if magic, err := os.ReadFile(path); err != nil || !bytes.HasPrefix(magic, []byte(elf.ELFMAG)) {
			testenv.Skip(t, "elf", path+" is not an ELF program")
		}
		libs, err := SharedLibraries(t.Context(), path)
		if err != nil || len(libs.Missing) > 0 {
			t.Errorf("%s: %+v, %v", path, libs, err)
		}
		if libs.Reason == "" && (len(libs.Files) == 0 || libs.Interpreter == nil || libs.Bytes() == 0) {
			t.Errorf("%s: %+v", path, libs)
		}
	}
}

func FuzzELF(f *testing.F) {
	f.Add(makeELF(elf.EM_X86_64, "/lib/ld.so", "s", "a:b", "c", "libx.so", "liby.so"))
	f.Add([]byte("\x7fELF"))
	f.Add([]byte("#!/bin/sh"))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := readELF(io.NewSectionReader(bytes.NewReader(data), 0, int64(len(data))))
		if bytes.HasPrefix(data, []byte(elf.ELFMAG)) == (err == errNotELF) {
			t.Fatalf("%q: %v", data, err)
		}
		if err != nil {
			if !cmp.Equal(got, elfFile{}, cmp.AllowUnexported(elfFile{})) {
				t.Fatalf("%+v beside %v", got, err)
			}
			return
		}
		// debug/elf is the oracle for what it accepts as well.
		ref, err := elf.NewFile(bytes.NewReader(data))
		if err != nil {
			return
		}
		dynamic := false
		for _, p := range ref.Progs {
			dynamic = dynamic || p.Type == elf.PT_DYNAMIC
		}
		if ref.Class != got.class || ref.Machine != got.machine || dynamic != got.dynamic {
			t.Fatalf("%+v, but debug/elf has %+v", got, ref.FileHeader)
		}
	})
}
