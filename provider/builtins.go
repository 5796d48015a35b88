package provider

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/provider-measure/provider-measure/provider/builtin"
)

// builtinDir is the folder of the embedded files that becomes ${manifest_dir}.
const builtinDir = "providers"

// ParseBuiltins reads the embedded manifests without laying their files out:
// enough to list and to print them, not to run them.
func ParseBuiltins() ([]*Manifest, error) {
	files, err := fs.Sub(builtin.FS, builtinDir)
	if err != nil {
		return nil, &ManifestError{File: builtinDir, Reason: ReasonManifestUnreadable, Err: err}
	}
	return parseBuiltins(files, "")
}

func parseBuiltins(files fs.FS, dir string) ([]*Manifest, error) {
	names, err := manifestNames(files)
	if err != nil {
		return nil, &ManifestError{File: builtinDir, Reason: ReasonManifestUnreadable, Err: err}
	}
	var out []*Manifest
	for _, name := range names {
		m, err := loadManifest(files, name, ManifestSource{File: "built-in:" + name, Dir: dir, FS: files, Origin: BuiltIn})
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

// OpenBuiltins lays the embedded workers and schemas out in a new private folder
// below tempDir ("" is the system's) and returns the manifests with that folder
// as ${manifest_dir}. The caller calls remove when no run can need the files any
// more; it is never nil.
//
// The folder belongs to one process: a shared one would have to be defended
// against whoever can write to it, and the workers' identity does not depend on
// where they are.
func OpenBuiltins(tempDir string) (manifests []*Manifest, remove func() error, err error) {
	remove = func() error { return nil }
	dir, err := os.MkdirTemp(tempDir, "provider-measure-builtin-")
	if err != nil {
		return nil, remove, workersError(err)
	}
	remove = func() error { return os.RemoveAll(dir) }
	fail := func(err error) ([]*Manifest, func() error, error) {
		return nil, func() error { return nil }, errors.Join(err, remove())
	}
	// Programs run in folders of their own, where a relative TMPDIR means another.
	if dir, err = filepath.Abs(dir); err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return fail(workersError(err))
	}
	files, err := fs.Sub(builtin.FS, builtinDir)
	if err != nil {
		return fail(workersError(err))
	}
	if err := os.CopyFS(dir, files); err != nil {
		return fail(workersError(err))
	}
	manifests, err = parseBuiltins(files, dir)
	if err != nil {
		return fail(err)
	}
	return manifests, remove, nil
}

func workersError(err error) *Error {
	return &Error{
		Code: CodeUnavailable, Reason: ReasonWorkersUnavailable, Message: fmt.Sprintf("the built-in workers can't be laid out: %v", err),
		Hint: "give a folder with room in TMPDIR", Err: err,
	}
}
