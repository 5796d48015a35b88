package probe

import "os"

// stdinFile returns a file of data, at its start.
func stdinFile(data []byte, scratchParent string) (*os.File, error) {
	return unlinkedFile(data, scratchParent)
}
