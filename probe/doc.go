// Package probe runs one child process: bounded, sanitized, observed.
//
// [Run] starts a program by absolute path and argument list, never through a
// shell, with an environment composed from nothing, a private scratch directory
// as working directory, HOME and TMPDIR, given bytes or /dev/null as standard
// input, and hard limits on wall time, CPU time, memory, processes, file size
// and each output stream. It returns only when no descendant of the program is
// left, however the program forked, and says for every number how it was
// obtained and for every restriction whether this host enforced it.
//
// On Linux the engine is a tracer (ptrace): it sees every descendant from its
// first instruction to its last. Where ptrace is refused, and elsewhere, a
// portable engine of sessions, process groups and process-table searches takes
// over; [Result.Engine] names the one that ran. What a probe proves is
// operational: the bytes that ran, what they cost and what they printed. It is
// never evidence that what was printed is true.
//
// The package starts processes, and no other package of this module may.
package probe
