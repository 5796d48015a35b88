package probe

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// executed notes what the kernel opened to execute the program of a task that is
// stopped after its exec: the image, the scripts that led to it, and, as they
// are mapped, the image and its loader.
func (w *watcher) executed(tid int) {
	if w == nil || !w.list {
		return
	}
	image, err := w.look(procPath(tid, "exe"))
	if err != nil {
		w.lost(tid, err)
		return
	}
	image.Executed = true
	w.note(image)
	w.scripts(tid, image)
	w.maps(tid)
}

// maxScripts is how many scripts the kernel follows to an image.
const maxScripts = 5

// scripts notes the scripts that were given to an exec whose image is another
// file. The kernel keeps no reference to them, so that they are looked up by the
// name that it was given; when the interpreter then opens the script, which is
// what it runs, the numbers are of that descriptor.
func (w *watcher) scripts(tid int, image ObservedFile) {
	name, ok := executedName(tid)
	for depth := 0; ok && depth < maxScripts; depth++ {
		fd, err := openAs(tid, name, unix.O_PATH)
		if err != nil {
			// An image that was removed at once is no script.
			if depth > 0 || !image.Deleted {
				w.incomplete("a script was gone before it could be looked at")
			}
			return
		}
		script, err := w.lookAt(fd)
		if err != nil || script.Kind != FileRegular && script.Kind != FileMemory || script.Dev == image.Dev && script.Ino == image.Ino {
			_ = unix.Close(fd)
			return
		}
		name, ok = interpreterNamed(fd)
		_ = unix.Close(fd)
		if !ok {
			return // not a script: the name leads elsewhere by now
		}
		script.Executed, script.ByPath = true, true
		w.note(script)
	}
}

// executedName is the name that was given to the last exec of a task, which the
// kernel puts into the new image (AT_EXECFN).
func executedName(tid int) (string, bool) {
	const wanted = 31
	var buf [4096]byte
	text, err := procFile(&buf, procPath(tid, "auxv"))
	if err != nil {
		return "", false
	}
	for ; len(text) >= 16; text = text[16:] {
		if binary.LittleEndian.Uint64(text) == wanted {
			return readString(tid, binary.LittleEndian.Uint64(text[8:]))
		}
	}
	return "", false
}

// openAs opens a path as a stopped task would: relative to its own working
// directory and root. A name of a descriptor of the task's own, as fexecve(3)
// makes them, is that task's and not this one's.
func openAs(tid int, path string, flags int) (int, error) {
	base := procPath(tid, "")
	switch {
	case strings.HasPrefix(path, "/dev/fd/"):
		path = base + "fd/" + path[len("/dev/fd/"):]
	case strings.HasPrefix(path, "/proc/self/"):
		path = base + path[len("/proc/self/"):]
	case strings.HasPrefix(path, "/"):
		path = base + "root" + path
	default:
		path = base + "cwd/" + path
	}
	return unix.Open(path, flags|unix.O_CLOEXEC, 0)
}

// interpreterNamed returns the interpreter that the first line of the regular
// file fd, opened as a path, names.
func interpreterNamed(fd int) (string, bool) {
	in, err := unix.Open("/proc/self/fd/"+strconv.Itoa(fd), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", false
	}
	defer unix.Close(in)
	head := make([]byte, shebangSize)
	n, err := unix.Pread(in, head, 0)
	if err != nil {
		return "", false
	}
	name := scriptInterpreter(head[:n])
	return name, name != ""
}

// maps notes the files that are mapped into a stopped task. At its exec these are
// what the kernel mapped; at the end of a process, what its descriptors, which
// it may have from elsewhere, were used for.
func (w *watcher) maps(tid int) {
	if w == nil || !w.list {
		return
	}
	text, err := w.readMaps(tid)
	if err != nil {
		w.lost(tid, err)
		return
	}
	for len(text) > 0 {
		var line []byte
		line, text, _ = bytes.Cut(text, []byte("\n"))
		span, rest, ok := mappedFile(line)
		if !ok {
			continue
		}
		if _, known := w.mapped[string(rest)]; known {
			continue
		}
		if len(w.mapped) < maxObserved && w.mappedBytes+len(rest) <= maxObservedBytes {
			w.mappedBytes += len(rest)
			w.mapped[string(rest)] = struct{}{}
		}
		w.noteMapping(tid, string(span), string(rest))
	}
}

// readMaps reads all of /proc/TID/maps.
func (w *watcher) readMaps(tid int) ([]byte, error) {
	fd, err := unix.Open(procPath(tid, "maps"), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	if w.buffer == nil {
		w.buffer = make([]byte, 64<<10)
	}
	have := 0
	for {
		n, err := unix.Read(fd, w.buffer[have:])
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return nil, err
		case n == 0:
			return w.buffer[:have], nil
		}
		if have += n; have == len(w.buffer) {
			if have >= maxMaps {
				w.incomplete("a process has more mappings than are read")
				return w.buffer[:have], nil
			}
			w.buffer = append(w.buffer, make([]byte, have)...)
		}
	}
}

// maxMaps bounds what is read of one process's maps: the kernel's usual 65530
// mappings of some hundred bytes.
const maxMaps = 16 << 20

// mappedFile splits a line of /proc/TID/maps: the addresses, and the device,
// inode and path. It is false when no file with a name is mapped there.
func mappedFile(line []byte) (span, rest []byte, ok bool) {
	span, rest, _ = bytes.Cut(line, []byte(" "))
	for range 2 { // permissions and offset
		if _, rest, ok = bytes.Cut(rest, []byte(" ")); !ok {
			return nil, nil, false
		}
	}
	at := bytes.IndexByte(rest, '/')
	// Shared memory without a name is a file that the kernel calls so.
	if at < 0 || bytes.HasSuffix(rest[at:], []byte("/dev/zero (deleted)")) || bytes.HasPrefix(rest[at:], []byte("/SYSV")) {
		return nil, nil, false
	}
	return span, rest, true
}

// noteMapping notes the file of one mapping. The kernel's reference to it can be
// opened by privileged hosts only. Others look its path up; as long as the
// mapping is there its inode is, so that equal numbers are the same file.
func (w *watcher) noteMapping(tid int, span, rest string) {
	f, err := w.look(procPath(tid, "map_files/"+span))
	if err != nil {
		f, err = w.lookMapped(tid, rest)
	}
	if err != nil {
		w.lost(tid, err)
		return
	}
	f.Mapped = true
	w.note(f)
}

// lookMapped looks up the file of a line "major:minor inode path" by its path.
func (w *watcher) lookMapped(tid int, rest string) (ObservedFile, error) {
	device, rest, _ := strings.Cut(rest, " ")
	inode, rest, _ := strings.Cut(rest, " ")
	major, minor, _ := strings.Cut(device, ":")
	dev := unix.Mkdev(hexadecimal(major), hexadecimal(minor))
	ino, _ := strconv.ParseUint(inode, 10, 64)
	path := strings.ReplaceAll(strings.TrimLeft(rest, " "), `\012`, "\n")
	f := ObservedFile{Kind: FileRegular, Dev: dev, Ino: ino, ByPath: true}
	name, deleted := withoutDeleted(path, false, func(p string) bool { return isFile(p, dev, ino) })
	if deleted {
		// Nothing but the mapping knows it; an opening gave its numbers before.
		f.Path, f.Deleted = w.shown(name), true
		if strings.HasPrefix(name, "/memfd:") {
			f.Kind = FileMemory
		}
		return f, nil
	}
	fd, err := openAs(tid, path, unix.O_PATH|unix.O_NOFOLLOW)
	if err != nil {
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EACCES) {
			f.Path = w.shown(path)
			return f, nil
		}
		return f, err
	}
	defer unix.Close(fd)
	found, err := w.lookAt(fd)
	if err != nil {
		return f, err
	}
	// Some file systems give another device here than stat does (btrfs, overlays),
	// and then only the inode and the path can be compared.
	found.ByPath = found.Dev != dev || found.Ino != ino
	if found.Ino != ino {
		f.Path = w.shown(path)
		return f, nil
	}
	return found, nil
}

func hexadecimal(s string) uint32 {
	n, _ := strconv.ParseUint(s, 16, 32)
	return uint32(n)
}

// ignoreMissing is nil for errors that say that something is gone.
func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return nil
	}
	return err
}
