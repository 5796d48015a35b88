package provider

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/provider-measure/provider-measure/internal/stricttoml"
)

// maxManifests bounds one folder; a host has tens of providers.
const maxManifests = 1024

// tooLargeError is a file above its limit.
type tooLargeError struct {
	name  string
	limit int64
}

func (e tooLargeError) Error() string {
	return fmt.Sprintf("%s is larger than %d bytes", e.name, e.limit)
}

// readSmallFile reads a regular file of at most limit bytes. It looks before it
// opens, since opening a FIFO may never return.
func readSmallFile(fsys fs.FS, name string, limit int64) ([]byte, error) {
	if info, err := fs.Stat(fsys, name); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
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
		return nil, tooLargeError{name, limit}
	}
	return data, nil
}

// LoadManifestDir reads every `*.toml` of an operator's folder in byte order of
// their names. The folder, its manifests, and the schemas and programs that they
// name below it must belong to root or to the user and be writable by their owner
// only, and so that nobody else can put another in their place; or
// [ReasonManifestPermissions] is the error. Links out of the folder are not
// followed.
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
		if err := checkNamedFiles(m); err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

// checkNamedFiles applies checkWriters to what a manifest names below its folder:
// whoever can write a schema or a worker can change what the manifest means. What
// is not there is found out when it is needed.
func checkNamedFiles(m *Manifest) error {
	for _, name := range m.namedFiles() {
		paths := []string{filepath.Join(m.Dir, name)}
		for dir := filepath.Dir(paths[0]); strings.HasPrefix(dir, m.Dir+"/"); dir = filepath.Dir(dir) {
			paths = append(paths, dir)
		}
		for _, path := range paths {
			if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err := checkWriters(path); err != nil {
				return err
			}
		}
	}
	return nil
}

// namedFiles are the schemas, and the arguments below ${manifest_dir}.
func (m *Manifest) namedFiles() []string {
	names := slices.Clone(m.schemaFiles)
	commands := []Command{m.Runtime}
	for _, p := range []*Probe{m.Probes.Health, m.Probes.Readiness, m.Probes.ColdStart, m.Probes.Reproduction} {
		if p != nil {
			commands = append(commands, p.Command)
		}
	}
	for _, c := range commands {
		for _, arg := range c.Argv {
			if rest, ok := strings.CutPrefix(arg, varManifestDir+"/"); ok {
				names = append(names, rest)
			}
		}
	}
	return names
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
	data, err := readSmallFile(fsys, name, stricttoml.MaxBytes)
	if err != nil {
		e := &ManifestError{File: source.File, Reason: ReasonManifestUnreadable, Err: err}
		if errors.As(err, new(tooLargeError)) {
			e.Reason = stricttoml.CodeTooLarge
		}
		return nil, e
	}
	return ParseManifest(data, source)
}

// checkWriters refuses what somebody else could change: a file or folder that
// its group or others may write or that belongs to neither root nor the user,
// and any folder above it that others may write without the sticky bit, or that
// is another user's, since they could then put another in its place.
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
		if uid, ok := ownerOf(info); ok && uid != 0 && uid != os.Geteuid() {
			return &ManifestError{File: path, Reason: ReasonManifestPermissions, Err: fmt.Errorf("%s above it belongs to user %d, neither root nor you", dir, uid)}
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}
