package digest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const opModule = "find module"

// ModuleKind is what a module is made of.
type ModuleKind string

const (
	ModulePackage   ModuleKind = "package"   // directory with an __init__ module
	ModuleSource    ModuleKind = "source"    // .py
	ModuleExtension ModuleKind = "extension" // shared library
	ModuleBytecode  ModuleKind = "bytecode"  // .pyc beside no source
	ModuleNamespace ModuleKind = "namespace" // directories without __init__
)

// Module is where Python would import a module from.
type Module struct {
	Name string     `json:"name"`
	Kind ModuleKind `json:"kind"`
	// Path is the file: that of __init__ for a package, the first directory for
	// a namespace. It is not resolved, for Python doesn't either.
	Path string `json:"path"`
	// Dirs is where submodules are looked for; none unless a package.
	Dirs []string `json:"dirs,omitempty"`
}

// FindModule says what "import dotted" would load with searchPath as sys.path,
// without importing, opening or running anything. The order is that of Python's
// path finder: for each directory a package, an extension module, source, then
// bytecode; and a namespace only if no directory has any of these. Links are
// followed, as Python does.
//
// It doesn't know of built-in modules, import hooks, .pth files, zip archives,
// nor of a package that changes its __path__; nor does it know which interpreter
// will import, so that an extension module built for another Python counts.
//
// Failures: [CodeModuleInvalid], [CodeModuleNotFound], [CodePermission].
func FindModule(searchPath []string, dotted string) (Module, error) {
	parts, why := dottedParts(dotted)
	if why != "" {
		return Module{}, fail(CodeModuleInvalid, opModule, "", "module name %q %s", dotted, why)
	}
	dirs := searchPath
	var m Module
	for i, part := range parts {
		var err error
		if m, err = findIn(dirs, part); err != nil {
			return Module{}, err
		}
		m.Name = strings.Join(parts[:i+1], ".")
		if m.Kind == "" {
			return Module{}, fail(CodeModuleNotFound, opModule, "", "no module %s on the search path", m.Name)
		}
		if dirs = m.Dirs; len(dirs) == 0 && i+1 < len(parts) {
			return Module{}, fail(CodeModuleNotFound, opModule, m.Path, "%s is not a package, so it has no %s", m.Name, parts[i+1])
		}
	}
	return m, nil
}

func findIn(dirs []string, name string) (Module, error) {
	var portions []string
	for _, dir := range dirs {
		if dir == "" || strings.IndexByte(dir, 0) >= 0 {
			return Module{}, fail(CodeInvalidArgument, opModule, dir, "search path entry is empty or holds NUL")
		}
		base := filepath.Join(dir, name)
		isDir, err := isKind(base, fs.ModeDir)
		if err != nil {
			return Module{}, err
		}
		if isDir {
			path, kind, err := moduleFile(base, "__init__")
			if err != nil {
				return Module{}, err
			}
			if kind != "" {
				return Module{Kind: ModulePackage, Path: path, Dirs: []string{base}}, nil
			}
		}
		path, kind, err := moduleFile(dir, name)
		if err != nil {
			return Module{}, err
		}
		if kind != "" {
			return Module{Kind: kind, Path: path}, nil
		}
		if isDir {
			portions = append(portions, base)
		}
	}
	if len(portions) > 0 {
		return Module{Kind: ModuleNamespace, Path: portions[0], Dirs: portions}, nil
	}
	return Module{}, nil
}

func moduleFile(dir, name string) (string, ModuleKind, error) {
	if ext := extensionModule(dir, name); ext != "" {
		return ext, ModuleExtension, nil
	}
	for _, try := range []struct {
		suffix string
		kind   ModuleKind
	}{{".py", ModuleSource}, {".pyc", ModuleBytecode}} {
		path := filepath.Join(dir, name+try.suffix)
		if ok, err := isKind(path, 0); err != nil || ok {
			return path, try.kind, err
		}
	}
	return "", "", nil
}

// extensionModule returns the extension module name in dir, "" if there is none.
// The tagged form goes first, as in Python's list of suffixes.
func extensionModule(dir, name string) string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return ""
	}
	best, rank := "", 0
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), name+".")
		if !ok {
			continue
		}
		r := 0
		switch {
		case strings.HasPrefix(rest, "cpython-") && strings.HasSuffix(rest, ".so") && strings.Count(rest, ".") == 1:
			r = 3
		case rest == "abi3.so":
			r = 2
		case rest == "so":
			r = 1
		}
		if r <= rank {
			continue
		}
		if regular, _ := isKind(filepath.Join(dir, e.Name()), 0); regular {
			best, rank = filepath.Join(dir, e.Name()), r
		}
	}
	return best
}

// isKind reports whether path, links followed, is of type want; what can't be
// there is not.
func isKind(path string, want fs.FileMode) (bool, error) {
	info, err := os.Stat(path)
	switch {
	case err == nil:
		return info.Mode().Type() == want, nil
	case errors.Is(err, fs.ErrPermission):
		return false, sysFail(opModule, path, err)
	default:
		return false, nil
	}
}
