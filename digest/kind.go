package digest

// Kind is the kind of a measured identity, as written into records.
type Kind string

// The four kinds. The zero value is no kind and is never valid in a record.
const (
	SourceTree     Kind = "SOURCE_TREE"
	PythonRecord   Kind = "PYTHON_DISTRIBUTION_RECORD"
	ExecutableKind Kind = "EXECUTABLE"
	CompositeKind  Kind = "COMPOSITE"
)

// Valid reports whether k is one of the four kinds.
func (k Kind) Valid() bool {
	switch k {
	case SourceTree, PythonRecord, ExecutableKind, CompositeKind:
		return true
	default:
		return false
	}
}

// Format names the byte layout that a SOURCE_TREE digest was computed over.
type Format string

const (
	// FormatTreeV1 is the layout of [Tree].
	FormatTreeV1 Format = "provider-measure.source-tree.v1"
	// FormatPackageV2 is the layout of [PythonPackage].
	FormatPackageV2 Format = "jacobian.python-package.v2"
)

// Valid reports whether f is a known layout.
func (f Format) Valid() bool { return f == FormatTreeV1 || f == FormatPackageV2 }
