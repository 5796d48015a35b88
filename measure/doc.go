// Package measure turns one capability of an installed provider into a
// measurement record: what is installed, what a start costs, whether a small
// real case still has its known answer, and, when it is asked for, what a fresh
// install costs.
//
// [Measure] identifies the provider, measures its identity again, and checks its
// readiness before anything is timed; it measures the identity a last time
// before the record is made. If it moved there is no record, because nobody
// could say which bytes the numbers belong to.
//
// # What "cold" means
//
// A cold start is a new process: its own address space, an empty private home,
// no bytecode written, no server left from before. It is not a cold disk. The
// page cache of the host is not evicted, and the identity and readiness checks
// have just read the provider's files, so on an idle host the samples show a
// start from memory. The first use after a boot is slower.
//
// # Where numbers come from
//
// Times, peaks and process counts are what package probe observed from outside;
// sizes come from lstat. No figure is ever taken from what a child printed. A
// number that could not be obtained is null, with the reason in the detail
// beside it, and never 0.
//
// A record says what was installed and what it cost. It is no evidence that an
// answer is true.
package measure
