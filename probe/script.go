package probe

import (
	"bytes"
	"debug/elf"
	"errors"
	"io"
	"os"
	"strings"
)

// shebangSize is how much of a file the kernel reads to find its interpreter
// (BINPRM_BUF_SIZE).
const shebangSize = 256

// scriptInterpreter returns the interpreter that the first line of head names,
// as the kernel reads it: "#!", blanks, then text up to a blank, a NUL or the
// line's end. It is empty when head is no script.
func scriptInterpreter(head []byte) string {
	if len(head) > shebangSize {
		head = head[:shebangSize]
	}
	rest, ok := bytes.CutPrefix(head, []byte("#!"))
	if !ok {
		return ""
	}
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	line = bytes.TrimLeft(line, " \t")
	if i := bytes.IndexAny(line, " \t\x00"); i >= 0 {
		line = line[:i]
	}
	return string(line)
}

// scriptLine returns the interpreter that the first line of head names and the
// one argument that it gives it: all the rest of the line, without the blanks
// around it, as the kernel passes it on.
func scriptLine(head []byte) (interpreter, argument string) {
	if interpreter = scriptInterpreter(head); interpreter == "" {
		return "", ""
	}
	if len(head) >= shebangSize {
		head = head[:shebangSize-1] // the kernel keeps a NUL at the end
	}
	line, _, _ := bytes.Cut(head[len("#!"):], []byte("\n"))
	line = bytes.Trim(line, " \t")[len(interpreter):]
	if len(line) > 0 && line[0] == 0 {
		return interpreter, ""
	}
	line, _, _ = bytes.Cut(bytes.TrimLeft(line, " \t"), []byte{0})
	return interpreter, string(line)
}

// interpreterOf returns the interpreter that the regular file at path names: of
// a script the one of its first line, of an ELF program its loader. It is empty
// when there is none or the file cannot be read.
func interpreterOf(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	head := make([]byte, shebangSize)
	n, err := io.ReadFull(file, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return ""
	}
	if script := scriptInterpreter(head[:n]); script != "" {
		return script
	}
	program, err := elf.NewFile(file)
	if err != nil {
		return ""
	}
	for _, p := range program.Progs {
		if p.Type != elf.PT_INTERP || p.Filesz > 4096 {
			continue
		}
		loader := make([]byte, p.Filesz)
		if _, err := p.ReadAt(loader, 0); err != nil {
			return ""
		}
		return strings.TrimRight(string(loader), "\x00")
	}
	return ""
}

// isScript reports whether the file at path begins with "#!".
func isScript(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	head := make([]byte, 2)
	_, err = io.ReadFull(file, head)
	return err == nil && string(head) == "#!"
}
