package probe

// FileKind tells what kind of thing an [ObservedFile] is.
type FileKind string

// The kinds of observed files.
const (
	FileRegular   FileKind = "regular"
	FileDirectory FileKind = "directory"
	FileLink      FileKind = "link" // a symbolic link itself, opened without following it
	FileDevice    FileKind = "device"
	FilePipe      FileKind = "pipe"
	FileSocket    FileKind = "socket"
	FileMemory    FileKind = "memory" // a file without a name, made by memfd_create
	FilePseudo    FileKind = "pseudo" // of a file system whose content the kernel makes up: /proc, /sys and their like
)

// ObservedFile is one file that a run used. There is one entry for each device,
// inode and path; its numbers are those of the first use.
//
// They are taken from the descriptor that the program got, or from the kernel's
// own reference to a running image or a mapping, and never from a path, save
// where ByPath says so. They cannot be those of a file that took the path's place.
type ObservedFile struct {
	// Path is what the kernel calls the file at the time of its first use, links
	// resolved. The scratch directory is written as ScratchVar, since its own
	// name is another in each run.
	Path string `json:"path"`
	// Asked is the path of the first use as the program gave it, when that is not
	// Path. Another thread of the program may have changed it in the meantime.
	Asked   string   `json:"asked,omitempty"`
	Kind    FileKind `json:"kind"`
	Dev     uint64   `json:"dev"`
	Ino     uint64   `json:"ino"`
	Size    int64    `json:"size"`
	MtimeNS int64    `json:"mtime_ns"`
	CtimeNS int64    `json:"ctime_ns"`
	Mode    uint32   `json:"mode"` // st_mode, with the type bits

	Opened   bool `json:"opened"`   // a system call of the program opened it
	Write    bool `json:"write"`    // some opening could write, create or truncate it
	Executed bool `json:"executed"` // the image of an exec, or a script that was given to one
	Mapped   bool `json:"mapped"`   // seen among the mappings of a process after an exec or at its end

	Deleted bool `json:"deleted,omitempty"` // it had no name any more; Path is its last
	Changed bool `json:"changed,omitempty"` // a later use found another size, mtime or ctime
	ByPath  bool `json:"by_path,omitempty"` // the numbers were looked up by path, not from a descriptor
}

// maxObserved and maxObservedBytes bound the list, whose length and paths the
// program controls. A large toolchain uses some ten thousand files.
const (
	maxObserved      = 1 << 16
	maxObservedBytes = 16 << 20
)

// notObserved is why a run of which files were to be listed has no list.
func notObserved(r *Result) string {
	if r.Engine != EngineTracer {
		return "files are observed by the tracer, and the portable engine ran"
	}
	return "the program did not run: " + r.Outcome.String()
}
