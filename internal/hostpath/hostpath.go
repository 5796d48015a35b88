// Package hostpath finds programs on this host the one way that all of this
// project does: never relative to the folder that it happens to run in.
package hostpath

import (
	"os"
	"path/filepath"
)

// Executable reports whether path leads to a regular file that somebody may
// execute. Links are followed.
func Executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

// Find looks a plain name up in a PATH. Relative entries, the empty one among
// them, are skipped: they name another file in each folder.
func Find(path, name string) (string, bool) {
	for _, dir := range filepath.SplitList(path) {
		if program := filepath.Join(dir, name); filepath.IsAbs(dir) && Executable(program) {
			return program, true
		}
	}
	return "", false
}
