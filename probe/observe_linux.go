package probe

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// watcher notes the files that a traced tree uses. All of it is used by the
// tracer's thread alone, while the task in question is stopped. A nil watcher is
// a run that is not observed, and notes nothing.
type watcher struct {
	list        bool   // the files are to be listed
	guard       *guard // judges the openings of a script; nil or of no script when there is nothing to judge
	difference  string // what it found
	mark        uint16 // of the filter's events; see observeFilter
	scratch     string
	files       []ObservedFile
	index       map[fileKey]int
	bytes       int                 // of all paths
	mapped      map[string]struct{} // lines of maps that are known, without their addresses
	mappedBytes int
	pseudo      map[uint64]bool // by device
	buffer      []byte          // for maps
	failed      int64
	reasons     []string
}

// fileKey is what makes two uses one file.
type fileKey struct {
	dev, ino uint64
	path     string
}

// newWatcher returns the watcher of a job, nil when neither its files are to be
// listed nor the openings of a script to be judged by g.
//
// The mark is random, since a program may install a filter that stops tasks as
// well: its events must not be taken for those of ours.
func newWatcher(j *job, g *guard) *watcher {
	if !j.observe && !g.isScript() {
		return nil
	}
	var mark [2]byte
	_, _ = rand.Read(mark[:]) // never fails
	w := &watcher{
		list: j.observe, guard: g, mark: binary.LittleEndian.Uint16(mark[:]), scratch: j.scratch, index: map[fileKey]int{},
		mapped: map[string]struct{}{}, pseudo: map[uint64]bool{},
	}
	if why := observable(); why != "" {
		w.incomplete(why)
	}
	return w
}

// filter is what stops the tasks, empty when nothing is observed.
func (w *watcher) filter() []unix.SockFilter {
	if w == nil || len(w.reasons) > 0 {
		return nil
	}
	if w.guard.isScript() {
		return observeFilter(w.mark, linkCalls()...)
	}
	return observeFilter(w.mark)
}

// options are the options of tracing that are needed in addition.
func (w *watcher) options() uintptr {
	if w == nil {
		return 0
	}
	return unix.PTRACE_O_TRACESECCOMP | unix.PTRACE_O_TRACESYSGOOD
}

// incomplete notes a reason why files may be missing, once.
func (w *watcher) incomplete(why string) {
	if !slices.Contains(w.reasons, why) {
		w.reasons = append(w.reasons, why)
	}
}

// entered handles a task that a filter has stopped before a system call. It
// reports whether the call is to be followed to its end.
func (w *watcher) entered(tid int, k *task) bool {
	info, err := readSyscall(tid)
	if err != nil || info.op != infoSeccomp {
		if err != nil && ignoreGone(err) != nil {
			w.incomplete("this kernel does not tell the arguments of a system call (PTRACE_GET_SYSCALL_INFO, Linux 5.3)")
		}
		return false
	}
	if uint32(info.data[7]) != uint32(w.mark) { //nolint:gosec // the lower half
		// A filter of the program's own, for which there is no tracer.
		if err := refuseCall(tid); err != nil {
			w.incomplete("a program's own seccomp filter could not be answered: " + err.Error())
		}
		return false
	}
	k.call = openCall{number: info.data[0], args: [6]uint64(info.data[1:7])}
	if isLinkCall(k.call.number) {
		return !w.guard.opened
	}
	if !w.list && !w.guard.concerns(tid, k.call) {
		return false
	}
	if k.call.number == unix.SYS_SECCOMP {
		w.incomplete("a program made a seccomp listener, which can let openings pass unseen")
		return false
	}
	return true
}

// left handles a task at the end of a system call that was followed.
func (w *watcher) left(tid int, k *task) {
	info, err := readSyscall(tid)
	if err != nil || info.op != infoExit {
		return
	}
	result := int64(info.data[0]) //nolint:gosec // a result is signed
	if result < 0 {
		// An interrupted opening is made again, and then counted.
		if info.data[1]&0xff != 0 && !restarts(result) && !isLinkCall(k.call.number) {
			w.failed++
		}
		return
	}
	if isLinkCall(k.call.number) {
		w.found(w.guard.judgeLink(tid, k.call, result))
		return
	}
	fd := strconv.FormatInt(result, 10)
	if w.guard.isScript() {
		w.found(w.guard.judge(tid, fd, k.call))
	}
	if !w.list {
		return
	}
	f, err := w.look(procPath(tid, "fd/"+fd))
	if err != nil {
		w.lost(tid, err)
		return
	}
	f.Opened = true
	f.Write = w.opensToWrite(tid, fd, k.call)
	if address := k.call.path(); address != 0 {
		if asked, ok := readString(tid, address); ok && w.shown(asked) != f.Path {
			f.Asked = w.shown(asked)
		}
	}
	w.note(f)
}

// found keeps the first difference.
func (w *watcher) found(difference string) {
	if w.difference == "" {
		w.difference = difference
	}
}

// restarts reports whether a result is one of the kernel's own, which no program
// sees: the call is made again after a signal.
func restarts(result int64) bool {
	const first, last = 512, 516 // ERESTARTSYS to ERESTART_RESTARTBLOCK
	return -result >= first && -result <= last
}

// opensToWrite tells from the registers, or for openat2, whose flags are in
// memory that may have changed, from the descriptor too.
func (w *watcher) opensToWrite(tid int, fd string, c openCall) bool {
	switch c.number {
	case unix.SYS_OPENAT, unix.SYS_OPEN_BY_HANDLE_AT:
		return writes(c.args[2])
	case unix.SYS_OPENAT2:
		if how := readMemory(tid, c.args[2], 8); len(how) == 8 && writes(binary.LittleEndian.Uint64(how)) {
			return true
		}
		var buf [4096]byte
		text, err := procFile(&buf, procPath(tid, "fdinfo/"+fd))
		flags, ok := octalField(text, "flags")
		return err != nil || !ok || writes(flags)
	}
	return legacyWrites(c)
}

// octalField returns the octal number after "name:" in text.
func octalField(text []byte, name string) (uint64, bool) {
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			n, err := strconv.ParseUint(strings.TrimSpace(rest), 8, 64)
			return n, err == nil
		}
	}
	return 0, false
}

// lost notes that something used could not be looked at.
func (w *watcher) lost(tid int, err error) {
	var st unix.Stat_t
	switch {
	case unix.Stat(procPath(tid, "stat"), &st) != nil:
		// Killed in the meantime: the program never saw the descriptor.
	case ignoreMissing(err) == nil:
		w.incomplete("a descriptor was closed by another thread before it could be looked at")
	default:
		w.incomplete("a process may not be looked into: " + err.Error())
	}
}

// look takes the numbers and the name of what one of the kernel's own links in
// /proc refers to, both from the same reference to it.
func (w *watcher) look(link string) (ObservedFile, error) {
	fd, err := unix.Open(link, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return ObservedFile{}, err
	}
	defer unix.Close(fd)
	return w.lookAt(fd)
}

// lookAt is look for a descriptor of the host's own.
func (w *watcher) lookAt(fd int) (ObservedFile, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return ObservedFile{}, err
	}
	path, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
	if err != nil {
		return ObservedFile{}, err
	}
	f := ObservedFile{
		Dev: uint64(st.Dev), Ino: st.Ino, Size: st.Size, MtimeNS: st.Mtim.Nano(), CtimeNS: st.Ctim.Nano(), Mode: st.Mode, //nolint:unconvert // the type differs by processor
	}
	path, f.Deleted = withoutDeleted(path, st.Nlink == 0, func(p string) bool { return isFile(p, f.Dev, f.Ino) }) //nolint:unconvert // the type differs by processor
	f.Kind = w.kind(fd, f, path)
	f.Path = w.shown(path)
	return f, nil
}

// withoutDeleted takes the kernel's mark of a removed name off a path. A file
// may really be called so: then that name leads to it.
func withoutDeleted(path string, unlinked bool, leads func(string) bool) (string, bool) {
	name, marked := strings.CutSuffix(path, " (deleted)")
	if !marked || !unlinked && leads(path) {
		return path, false
	}
	return name, true
}

// isFile reports whether path leads to the file of these numbers.
func isFile(path string, dev, ino uint64) bool {
	var st unix.Stat_t
	return unix.Lstat(path, &st) == nil && uint64(st.Dev) == dev && st.Ino == ino //nolint:unconvert // the type differs by processor
}

// kind tells what f is; fd refers to it.
func (w *watcher) kind(fd int, f ObservedFile, path string) FileKind {
	if w.isPseudo(fd, f.Dev) {
		return FilePseudo
	}
	switch f.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return FileDirectory
	case unix.S_IFLNK:
		return FileLink
	case unix.S_IFCHR, unix.S_IFBLK:
		return FileDevice
	case unix.S_IFIFO:
		return FilePipe
	case unix.S_IFSOCK:
		return FileSocket
	}
	if f.Deleted && strings.HasPrefix(path, "/memfd:") {
		return FileMemory
	}
	return FileRegular
}

// isPseudo reports whether the content of a file system is made up by the
// kernel.
func (w *watcher) isPseudo(fd int, dev uint64) bool {
	if is, ok := w.pseudo[dev]; ok {
		return is
	}
	var fs unix.Statfs_t
	if unix.Fstatfs(fd, &fs) != nil {
		return false
	}
	is := slices.Contains([]int64{
		unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.DEBUGFS_MAGIC, unix.TRACEFS_MAGIC, unix.SECURITYFS_MAGIC,
		unix.CGROUP_SUPER_MAGIC, unix.CGROUP2_SUPER_MAGIC, unix.BPF_FS_MAGIC, unix.SELINUX_MAGIC, unix.SMACK_MAGIC,
		unix.PSTOREFS_MAGIC, unix.EFIVARFS_MAGIC, unix.NSFS_MAGIC, unix.ANON_INODE_FS_MAGIC, unix.BINFMTFS_MAGIC,
	}, int64(fs.Type)) //nolint:unconvert // the type differs by processor
	w.pseudo[dev] = is
	return is
}

// shown is a path as it is reported: with ScratchVar for the scratch directory.
func (w *watcher) shown(path string) string {
	if rest, ok := strings.CutPrefix(path, w.scratch); ok && (rest == "" || rest[0] == '/') {
		return ScratchVar + rest
	}
	return path
}

// note adds a use of f to what is known of the file.
func (w *watcher) note(f ObservedFile) {
	key := fileKey{f.Dev, f.Ino, f.Path}
	if i, ok := w.index[key]; ok {
		w.files[i].add(f)
		return
	}
	if len(w.files) >= maxObserved || w.bytes+len(f.Path)+len(f.Asked) > maxObservedBytes {
		w.incomplete(fmt.Sprintf("more than %d files or %d bytes of paths", maxObserved, maxObservedBytes))
		return
	}
	w.bytes += len(f.Path) + len(f.Asked)
	w.index[key] = len(w.files)
	w.files = append(w.files, f)
}

// add joins a later use of the same file. Numbers from a descriptor replace ones
// that were looked up by path.
func (o *ObservedFile) add(f ObservedFile) {
	// Of a mapping whose file has no name any more there are no numbers.
	if o.Mode != 0 && f.Mode != 0 {
		o.Changed = o.Changed || o.Size != f.Size || o.MtimeNS != f.MtimeNS || o.CtimeNS != f.CtimeNS
	}
	if o.ByPath && !f.ByPath {
		o.ByPath, o.Size, o.MtimeNS, o.CtimeNS, o.Mode = false, f.Size, f.MtimeNS, f.CtimeNS, f.Mode
	}
	if o.Asked == "" {
		o.Asked = f.Asked
	}
	o.Opened, o.Write = o.Opened || f.Opened, o.Write || f.Write
	o.Executed, o.Mapped = o.Executed || f.Executed, o.Mapped || f.Mapped
	o.Deleted = o.Deleted || f.Deleted
}

// finish hands over what was noted.
func (w *watcher) finish(o *observed) {
	if w == nil || !w.list {
		return
	}
	o.files, o.filesFailed, o.filesIncomplete = nonNil(w.files), w.failed, strings.Join(w.reasons, "; ")
}

// observedFigure is what this host can list of the files that a run uses.
func observedFigure() Capability {
	if why := observable(); why != "" {
		return Capability{Name: "observed", Reason: why}
	}
	return Capability{Name: "observed", Can: true, Exact: true, Method: "the descriptor of each opening, stopped by a seccomp filter; each exec stop; mappings"}
}
