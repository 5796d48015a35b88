package measure

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/provider-measure/provider-measure/digest"
	"github.com/provider-measure/provider-measure/provider"
)

// inode is one file, however many names it has.
type inode struct{ dev, ino uint64 }

// fileSet adds up files, each inode once.
type fileSet map[inode]int64

func (s fileSet) add(id digest.FileID, size int64) { s[inode{id.Dev, id.Ino}] = size }

func (s fileSet) totals() (bytes, files *int64) {
	var n int64
	for _, size := range s {
		n += size
	}
	count := int64(len(s))
	return &n, &count
}

// installedSize adds up the files of an identity as identification listed them;
// nothing is looked for on disk that the identity does not name.
func installedSize(ctx context.Context, id provider.Identification) InstalledSize {
	set := fileSet{}
	out := InstalledSize{Status: Failed, SharedLibraries: sharedLibraries(ctx, id.Measured)}
	if err := collectFiles(set, id.Runtime.Kind(), id.Measured); err != nil {
		out.Detail = detail(CodeNotMeasured, err.Error())
		return out
	}
	out.Status = Completed
	out.Bytes, out.Files = set.totals()
	return out
}

func collectFiles(set fileSet, kind digest.Kind, measured provider.Measured) error {
	switch kind {
	case digest.ExecutableKind:
		if measured.Executable == nil {
			return fmt.Errorf("identification kept no executable")
		}
		set.add(measured.Executable.File, measured.Executable.File.Size)
	case digest.SourceTree:
		if measured.Tree == nil || len(measured.Tree.Entries) == 0 {
			return fmt.Errorf("identification kept no list of the tree's files")
		}
		for _, e := range measured.Tree.Entries {
			set.add(e.File, e.Size)
		}
	case digest.PythonRecord:
		if measured.Inventory == nil || len(measured.Inventory.Files) == 0 {
			return fmt.Errorf("identification kept no list of the recorded files")
		}
		for _, f := range measured.Inventory.Files {
			set.add(f.File, f.Size)
		}
	case digest.CompositeKind:
		if len(measured.Components) == 0 {
			return fmt.Errorf("identification kept no components")
		}
		for _, c := range measured.Components {
			if err := collectFiles(set, c.Runtime.Kind(), c.Measured); err != nil {
				return fmt.Errorf("%s: %w", c.Runtime.Provider(), err)
			}
		}
	default:
		return fmt.Errorf("identity kind %q", kind)
	}
	return nil
}

// executablesOf lists the executables of an identity, in order.
func executablesOf(measured provider.Measured) []string {
	var out []string
	if measured.Executable != nil {
		out = append(out, measured.Executable.Path)
	}
	for _, c := range measured.Components {
		out = append(out, executablesOf(c.Measured)...)
	}
	return out
}

// sharedLibraries is nil for an identity without an executable. The libraries of
// several executables are united, and the loader is the first one's.
func sharedLibraries(ctx context.Context, measured provider.Measured) *SharedLibraries {
	executables := executablesOf(measured)
	if len(executables) == 0 {
		return nil
	}
	out := &SharedLibraries{Missing: []string{}}
	set := fileSet{}
	known := true
	var why []string
	for _, path := range executables {
		libs, err := digest.SharedLibraries(ctx, path)
		switch {
		case err != nil:
			known = false
			why = append(why, reasonOf(err, CodeNotMeasured).Error()+": "+err.Error())
			continue
		case libs.Reason != "":
			// That a static program needs none is a fact; what a script's
			// interpreter loads is not known.
			known = known && strings.HasPrefix(libs.Reason, "statically")
			why = append(why, path+": "+libs.Reason)
			continue
		}
		for _, f := range libs.Files {
			set.add(f.File, f.Size)
		}
		if libs.Interpreter != nil {
			set.add(libs.Interpreter.File, libs.Interpreter.Size)
			if out.Interpreter == nil {
				loader := libs.Interpreter.Path
				out.Interpreter = &loader
			}
		}
		for _, missing := range libs.Missing {
			out.Missing = append(out.Missing, clean(missing.Name))
		}
	}
	slices.Sort(out.Missing)
	out.Missing = slices.Compact(out.Missing)
	out.Detail = joined(why)
	if known {
		out.Bytes, out.Files = set.totals()
	}
	return out
}

// sameFiles makes sure that the recorded files of Python distributions are still
// those that were measured. RECORD itself was compared already, but it does not
// change when somebody edits a file that it names. Inode, size and time of
// change of content are compared, not ctime, which moves when another
// environment links to the same file. Bytecode without a hash is left out, since
// Python may write it at any time.
func sameFiles(ctx context.Context, id provider.Identification) error {
	for _, c := range id.Measured.Components {
		if err := sameFiles(ctx, c); err != nil {
			return err
		}
	}
	d, before := id.Measured.Distribution, id.Measured.Inventory
	if d == nil || before == nil || id.Runtime.Kind() != digest.PythonRecord {
		return nil
	}
	after, err := d.Inventory(ctx)
	if err != nil {
		return &provider.Error{
			Code: provider.CodeUnavailable, Reason: reasonOf(err, CodeNotMeasured), Provider: id.Runtime.Provider(), Message: err.Error(), Err: err,
		}
	}
	now := make(map[string]digest.FileID, len(after.Files))
	for _, f := range after.Files {
		now[f.Path] = f.File
	}
	for _, f := range before.Files {
		is, was := now[f.Path], f.File
		if !f.Row.Hashed && strings.HasSuffix(f.Row.Path, ".pyc") {
			continue
		}
		if is.Dev != was.Dev || is.Ino != was.Ino || is.Size != was.Size || is.MtimeNS != was.MtimeNS {
			return &provider.Error{
				Code: provider.CodeIdentityChanged, Reason: provider.ReasonFilesDiffer, Provider: id.Runtime.Provider(), Path: f.Path,
				Message: f.Path + " was written or replaced", Hint: "measure again when nothing installs into the environment",
			}
		}
	}
	return nil
}
