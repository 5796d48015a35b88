// Package housetest holds tests about the repository itself: who imports whom,
// where processes may be started, that nothing is global, that every code is
// documented, and that docs/formats.md names what the code reads and writes.
//
// Each rule is a function over parsed source, so that it is tried on small wrong
// examples as well as on the repository: a rule that stopped biting would fail.
// Files are parsed whatever their build constraints say, since a rule must also
// hold on the platforms where the test does not run.
package housetest
