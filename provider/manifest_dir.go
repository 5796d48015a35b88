package provider

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// maxManifests bounds one folder; a host has tens of providers.
const maxManifests = 1024

// readSmallFile reads a regular file of at most limit bytes.
func readSmallFile(fsys fs.FS, name string, limit int64) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%s is larger than %d bytes", name, limit)
	}
	return data, nil
}

// LoadManifestDir reads every `*.toml` of an operator's folder in byte order of
// their names. The folder and the files must belong to root or to the user and
// be writable by their owner only, or [ReasonManifestPermissions] is the error;
// links out of the folder are not followed.
func LoadManifestDir(dir string) ([]*Manifest, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, &ManifestError{File: dir, Reason: ReasonManifestUnreadable, Err: err}
	}
	if err := checkWriters(abs); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(abs)
	if err != nil {
		return nil, &ManifestError{File: abs, Reason: ReasonManifestUnreadable, Err: err}
	}
	defer root.Close()
	names, err := manifestNames(root.FS())
	if err != nil {
		return nil, &ManifestError{File: abs, Reason: ReasonManifestUnreadable, Err: err}
	}
	var out []*Manifest
	for _, name := range names {
		path := filepath.Join(abs, name)
		if err := checkWriters(path); err != nil {
			return nil, err
		}
		m, err := loadManifest(root.FS(), name, ManifestSource{File: path, Dir: abs, FS: root.FS(), Origin: Operator})
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

func manifestNames(fsys fs.FS) ([]string, error) {
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".toml") && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	if len(names) > maxManifests {
		return nil, fmt.Errorf("%d manifests, at most %d", len(names), maxManifests)
	}
	sort.Strings(names)
	return names, nil
}

func loadManifest(fsys fs.FS, name string, source ManifestSource) (*Manifest, error) {
	// One byte more than the parser takes, so that it is the one to say why.
	data, err := readSmallFile(fsys, name, 1<<20+1)
	if err != nil {
		return nil, &ManifestError{File: source.File, Reason: ReasonManifestUnreadable, Err: err}
	}
	return ParseManifest(data, source)
}

// checkWriters refuses what somebody else could change: a file or folder that
// its group or others may write or that belongs to neither root nor the user,
// and any folder above it that others may write without the sticky bit, since
// they could then put another in its place.
func checkWriters(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return &ManifestError{File: path, Reason: ReasonManifestUnreadable, Err: err}
	}
	if mode := info.Mode(); mode.Perm()&0o022 != 0 {
		return &ManifestError{File: path, Reason: ReasonManifestPermissions, Err: fmt.Errorf("mode %v lets others write it; chmod go-w it", mode)}
	}
	if uid, ok := ownerOf(info); ok && uid != 0 && uid != os.Geteuid() {
		return &ManifestError{File: path, Reason: ReasonManifestPermissions, Err: fmt.Errorf("belongs to user %d, neither root nor you", uid)}
	}
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		return &ManifestError{File: path, Reason: ReasonManifestUnreadable, Err: err}
	}
	for dir := filepath.Dir(resolved); ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return &ManifestError{File: dir, Reason: ReasonManifestUnreadable, Err: err}
		}
		if info.Mode().Perm()&0o002 != 0 && info.Mode()&fs.ModeSticky == 0 {
			return &ManifestError{File: path, Reason: ReasonManifestPermissions, Err: fmt.Errorf("others can write %s above it", dir)}
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}
