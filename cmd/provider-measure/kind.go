package main

import "github.com/provider-measure/provider-measure/digest"

// kindText says what a digest of a kind covers. A RECORD digest is one of the
// manifest that the installer wrote, and must never read as more.
func kindText(k digest.Kind) string {
	switch k {
	case digest.SourceTree:
		return "SOURCE_TREE: the bytes of every file"
	case digest.PythonRecord:
		return "PYTHON_DISTRIBUTION_RECORD: the installed manifest (RECORD), not the files' bytes"
	case digest.ExecutableKind:
		return "EXECUTABLE: the bytes of the resolved file"
	case digest.CompositeKind:
		return "COMPOSITE: the records of its components, in order"
	}
	return ""
}
