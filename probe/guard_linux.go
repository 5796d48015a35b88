package probe

import (
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// guard keeps a run to the program that was measured. A nil guard is a run of
// which nothing was expected.
//
// Of a program that the kernel loads, the image is compared at the exec stop, and
// nothing more is needed: the kernel keeps a file from being written to while it
// is executed. A script is read by its interpreter, by name, after that. What of
// it acts before that, its first line, shows in the interpreter's image and in
// the argument list, which are compared at the exec stop; and then each
// descriptor that the tree opens is compared before it can be read from, when it
// was asked for by the script's name or the kernel calls it so. An interpreter
// that follows links itself, and then opens another name, is held to the links
// that led to the script when it was compared.
type guard struct {
	want        *Expectation
	name        string // that the program is executed by
	target      string // the same, links resolved
	links       map[string]string
	program     *holding
	interpreter *holding // of a script; the last, when that is itself a script
	wantImage   *Expectation
	argv        []string // that the kernel makes for a script's interpreter
	follows     bool     // openings are stopped
	opened      bool     // the script was opened, and was the expected one
}

// newGuard holds the files of a job open. The difference is not empty when they
// are others than expected already.
func newGuard(j *job) (g *guard, difference string) {
	if j.expect == nil {
		return nil, ""
	}
	g = &guard{want: j.expect, name: j.path}
	program, err := hold(j.path)
	g.program = program
	if err != nil {
		return g, "" // it cannot be executed either, and that says why
	}
	if difference = differing(&program.st, j.expect); difference != "" {
		return g, difference
	}
	if scriptInterpreter(program.head()) == "" {
		return g, ""
	}
	g.follows = observable() == ""
	g.links, g.target = followLinks(j.path)
	return g, g.prepareScript(j)
}

// maxInterpreters is how many scripts the kernel goes through to an image.
const maxInterpreters = 5

// prepareScript finds out what the kernel makes of the script's first line.
func (g *guard) prepareScript(j *job) string {
	g.argv = slices.Clone(j.argv)
	name, head := g.name, g.program.head()
	for range maxInterpreters {
		next, argument := scriptLine(head)
		if next == "" {
			break
		}
		args := []string{next}
		if argument != "" {
			args = append(args, argument)
		}
		g.argv = slices.Concat(args, []string{name}, g.argv[1:])
		at := next
		if !path.IsAbs(at) {
			at = path.Join(j.scratch, at)
		}
		g.interpreter.close()
		var err error
		if g.interpreter, err = hold(at); err != nil {
			return "" // the kernel will say so
		}
		name, head = next, g.interpreter.head()
	}
	if g.wantImage = g.want.Interpreter; g.wantImage == nil {
		g.wantImage = g.interpreter.identity()
	}
	if d := differing(&g.interpreter.st, g.wantImage); d != "" {
		return "interpreter: " + d
	}
	return ""
}

// differing compares numbers that were read with those that are wanted.
func differing(st *unix.Stat_t, want *Expectation) string {
	return difference(uint64(st.Dev), st.Ino, st.Size, st.Ctim.Nano(), want) //nolint:unconvert // the type differs by processor
}

// maxSteps bounds the names that are looked at, where links lead in a circle.
const maxSteps = 4096

// followLinks resolves the links of an absolute path, and lists each with where
// it led.
func followLinks(name string) (links map[string]string, target string) {
	links = map[string]string{}
	at, rest := "/", strings.Split(name, "/")
	for most := maxSteps; len(rest) > 0 && most > 0; most-- {
		part := rest[0]
		rest = rest[1:]
		at = path.Join(at, part)
		to, err := os.Readlink(at)
		if err != nil || part == "" || part == "." || part == ".." {
			continue
		}
		links[at] = to
		rest = append(strings.Split(to, "/"), rest...)
		if at = path.Dir(at); path.IsAbs(to) {
			at = "/"
		}
	}
	return links, at
}

// isScript reports whether the program is a script whose openings are followed.
func (g *guard) isScript() bool { return g != nil && g.follows }

// compare compares the running image, of which nothing has run.
func (g *guard) compare(pid int) *ExpectationStatus {
	status := &ExpectationStatus{Exact: true, Method: "the image of the process, stopped after its exec"}
	image := procPath(pid, "exe")
	switch {
	case g.argv == nil:
		status.Difference = differs(image, g.want)
	case g.wantImage == nil:
		status.Difference = "the interpreter could not be examined before the start"
	default:
		status.Method = "the interpreter's image and arguments, stopped after its exec; the script's descriptor at each opening"
		if !g.follows {
			status.Exact = false
			status.Method = "the interpreter's image and arguments, stopped after its exec; the script's path before and after"
		}
		switch {
		case differs(image, g.wantImage) != "":
			status.Difference = "interpreter: " + differs(image, g.wantImage)
		case !slices.Equal(argumentsOf(pid), g.argv):
			status.Difference = "the arguments are not those of the script's first line"
		default:
			status.Difference = differs(g.name, g.want)
		}
	}
	if status.Difference == "" && g.wanted() {
		status.Difference = wantedByWriter
	}
	status.Matched = status.Difference == ""
	return status
}

const wantedByWriter = "another process asked to write to it, which ended its lease"

// argumentsOf reads the argument list of a process.
func argumentsOf(pid int) []string {
	text, err := os.ReadFile(procPath(pid, "cmdline"))
	if err != nil || len(text) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
}

// wanted reports whether a lease is to be given up for a writer.
func (g *guard) wanted() bool {
	return g != nil && (g.program.wanted() || g.interpreter.wanted())
}

// yield gives way to a writer before the start, which could not succeed as long
// as one waits: an executed file may not be open for writing.
func (g *guard) yield() {
	if g.wanted() {
		g.program.yield("a writer was let in before the start")
		g.interpreter.yield("a writer was let in before the start")
	}
}

// concerns reports whether an opening is to be followed to its end. Until the
// script was opened all are; after that, what runs is the script itself, and only
// what may be another opening of it matters.
func (g *guard) concerns(tid int, call openCall) bool {
	if !g.opened {
		return true
	}
	asked, ok := readString(tid, call.path())
	base := path.Base(asked)
	return !ok || base == path.Base(g.name) || base == path.Base(g.target) ||
		strings.HasPrefix(asked, "/dev/fd/") || strings.HasPrefix(asked, "/proc/")
}

// judge compares a descriptor that a stopped task has just opened, and names the
// difference when it is another script than the one that was measured.
func (g *guard) judge(tid int, fd string, call openCall) string {
	link := procPath(tid, "fd/"+fd)
	var st unix.Stat_t
	if err := unix.Stat(link, &st); err != nil {
		return ""
	}
	same := uint64(st.Dev) == g.want.Dev && st.Ino == g.want.Ino //nolint:unconvert // the type differs by processor
	if !same && !g.named(tid, link, call) {
		return ""
	}
	if d := differing(&st, g.want); d != "" {
		return "script: " + d
	}
	if g.wanted() {
		return wantedByWriter
	}
	g.opened = true
	return ""
}

// named reports whether what was opened has the script's name.
func (g *guard) named(tid int, link string, call openCall) bool {
	ours := func(name string) bool { return name == g.name || name == g.target }
	if asked, ok := readString(tid, call.path()); ok && (ours(asked) || ours(path.Clean(asked))) {
		return true
	}
	name, err := os.Readlink(link)
	return err == nil && ours(strings.TrimSuffix(name, " (deleted)"))
}

// isLinkCall reports whether a system call reads a symbolic link.
func isLinkCall(number uint64) bool {
	return slices.Contains(linkCalls(), uint32(number)) //nolint:gosec // a system call's number
}

// judgeLink compares a link on the way to the script, which a stopped task has
// just read, with what it was.
func (g *guard) judgeLink(tid int, call openCall, size int64) string {
	at := 0
	if call.number == unix.SYS_READLINKAT {
		at = 1
	}
	asked, ok := readString(tid, call.args[at])
	asked = path.Clean(asked)
	onTheWay := strings.HasPrefix(g.name+"/", asked+"/") || strings.HasPrefix(g.target+"/", asked+"/")
	was, known := g.links[asked]
	if !ok || !known && !onTheWay {
		return ""
	}
	// A result as long as the buffer may have been cut.
	got := string(readMemory(tid, call.args[at+1], int(size)))
	if known && strings.HasPrefix(was, got) && (len(got) == len(was) || uint64(size) == call.args[at+2]) { //nolint:gosec // a size
		return ""
	}
	return "a link on the way to the script leads elsewhere: " + asked
}

// after compares once more when the tree is gone.
func (g *guard) after(status *ExpectationStatus) {
	if g == nil || status == nil {
		return
	}
	if g.argv != nil && status.Matched {
		d := g.program.changed()
		if d == "" {
			d = differs(g.name, g.want)
		}
		if d != "" {
			status.Difference = "script: " + d
		}
		if g.follows && !g.opened {
			status.Exact = false
			status.Method += ", of which there was none"
		}
	}
	if status.Matched && status.Difference == "" && g.wanted() {
		status.Difference = wantedByWriter
	}
	status.Matched = status.Difference == ""
}

// leases fills in whether the files were leased.
func (g *guard) leases(status *ExpectationStatus) {
	if g == nil || status == nil {
		return
	}
	status.Lease = g.program.leased
	status.LeaseReason = g.program.reason
	if h := g.interpreter; status.Lease && h != nil && !h.leased {
		status.LeaseReason = "of the interpreter: " + h.reason
	}
}

// close gives back what is held.
func (g *guard) close() {
	if g != nil {
		g.program.close()
		g.interpreter.close()
	}
}
