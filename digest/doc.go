// Package digest measures the identity of installed bytes.
//
// There are four kinds of identity, one function each:
//
//   - [Executable]: the bytes of one file.
//   - [Tree] and [PythonPackage]: the regular files of a directory tree.
//   - [ParseRecord] and [Record.Digest]: the RECORD of an installed Python
//     distribution. It is a digest of a manifest, not of files: a file that was
//     edited after installation does not change it. [Distribution.Verify]
//     rehashes the files.
//   - [Composite]: an ordered list of other identity records.
//
// Nothing here imports, runs or loads what it measures, and nothing follows a
// symbolic link inside a measured tree. Names of files are bytes: they are not
// normalised, and may hold line breaks and invalid UTF-8.
//
// Every failure is an [*Error] whose [Code] can be tested with [errors.Is]. On
// failure the other results are zero values.
package digest
