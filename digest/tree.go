//go:build unix

package digest

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"runtime"
	"sync"

	godigest "github.com/opencontainers/go-digest"
	"golang.org/x/sys/unix"
)

const opTree = "tree"

// TreeOptions changes how a tree is measured. The zero value is the default.
type TreeOptions struct {
	// Exclude lists files and directories to leave out, each by its exact path
	// relative to the root, with / between parts. One that matches nothing is
	// an error. [PythonPackage] has no exclusions.
	Exclude []string
	// Workers is how many files are hashed at a time; 0 is one for each
	// processor, at most 16. The digest doesn't depend on it.
	Workers int
	// MaxDepth is how many directories may be nested; 0 is 4096.
	MaxDepth int
	// CollectFiles asks for TreeResult.Entries, whose size grows with the tree.
	// Without it memory does not.
	CollectFiles bool
}

// TreeEntry is one measured file.
type TreeEntry struct {
	Path       string          `json:"path"` // relative, bytes
	Size       int64           `json:"size"`
	Executable bool            `json:"executable"`
	File       FileID          `json:"file"`
	Links      uint64          `json:"links"`
	Digest     godigest.Digest `json:"digest"` // of the content
}

// TreeResult is a measured tree.
type TreeResult struct {
	Digest godigest.Digest `json:"digest"`
	Format Format          `json:"format"`
	// Root is the absolute path of the measured directory, or of the one file
	// of a single-module package.
	Root  string `json:"root"`
	Bytes int64  `json:"bytes"` // of content; a file with two names counts twice
	Files int64  `json:"files"`
	// Entries is set when CollectFiles was, in byte order of Path.
	Entries []TreeEntry `json:"entries,omitempty"`
	// TopLevel and ModuleFile are set by PythonPackage: the top-level package,
	// and the absolute path of the file that defines the entrypoint's module.
	TopLevel   string `json:"top_level,omitempty"`
	ModuleFile string `json:"module_file,omitempty"`
}

func (o TreeOptions) checked(op string) (TreeOptions, error) {
	if o.Workers < 0 || o.MaxDepth < 0 {
		return o, fail(CodeInvalidArgument, op, "", "negative option")
	}
	if o.Workers == 0 {
		o.Workers = min(runtime.GOMAXPROCS(0), 16)
	}
	if o.MaxDepth == 0 {
		o.MaxDepth = defaultMaxDepth
	}
	return o, nil
}

// Tree returns the SOURCE_TREE digest of the directory root in [FormatTreeV1]:
// SHA-256 over the format's name, NUL, and for each regular file in byte order
// of its path relative to root
//
//	path length    8 bytes, big endian
//	path           bytes, / between parts
//	executable     1 byte: 1 if the owner may execute the file, else 0
//	content length 8 bytes, big endian
//	content        32 bytes: its SHA-256
//
// Directories and links named __pycache__ are left out. Empty directories,
// times, owners and other mode bits are not covered. A tree without files has
// a digest too; Files is then 0.
//
// An entry that is neither a directory nor a regular file stops the walk with
// [CodeNotRegular] and names the entry. A symbolic link is not followed, because
// its target may lie outside root and change without root changing. A FIFO or
// device is not opened, because reading it may never return. The same holds for
// root itself; links on the way to root are followed.
//
// A file whose size, mtime or ctime moves between open and end of read, and a
// directory whose entries change during the walk, is [CodeChanged]. When several
// things are wrong, the first in path order is reported.
//
// Memory is bounded by the largest directory, not by the tree.
func Tree(ctx context.Context, root string, opts TreeOptions) (TreeResult, error) {
	opts, err := opts.checked(opTree)
	if err != nil {
		return TreeResult{}, err
	}
	exclude, err := newExclusions(opts.Exclude)
	if err != nil {
		return TreeResult{}, err
	}
	abs, err := absolute(opTree, root)
	if err != nil {
		return TreeResult{}, err
	}
	fd, id, err := openRoot(opTree, abs)
	if err != nil {
		return TreeResult{}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := newPipeline(ctx, abs, opts)
	w := &walker{
		ctx: ctx, op: opTree, root: abs, maxDepth: opts.MaxDepth, exclude: exclude, visit: p.submit,
	}
	res, err := p.combine(cancel, func() error { return w.run(fd, id) })
	if err != nil {
		return TreeResult{}, err
	}
	if err := exclude.unused(abs); err != nil {
		return TreeResult{}, err
	}
	return res, nil
}

// window is how many files may be on their way between walker and combiner. It
// bounds memory and, as each may be in a directory of its own, descriptors.
const window = 64

// job is one file on its way.
type job struct {
	dir   *dirHandle
	path  []byte
	name  int // where in path the last name starts
	entry TreeEntry
	sum   [sha256.Size]byte
	err   error
	done  chan struct{} // one token when sum or err is set
}

// pipeline is walker -> workers -> combiner. Jobs go to work and, in path order,
// to order; they come back through free.
type pipeline struct {
	ctx   context.Context //nolint:containedctx // lives for one call
	root  string
	opts  TreeOptions
	work  chan *job
	order chan *job
	free  chan *job
}

func newPipeline(ctx context.Context, root string, opts TreeOptions) *pipeline {
	p := &pipeline{
		ctx: ctx, root: root, opts: opts,
		work: make(chan *job, window), order: make(chan *job, window), free: make(chan *job, window),
	}
	for range window {
		p.free <- &job{done: make(chan struct{}, 1)}
	}
	return p
}

// submit is the walker's visit function.
func (p *pipeline) submit(dir *dirHandle, path []byte, name int) error {
	var j *job
	select {
	case j = <-p.free:
	case <-p.ctx.Done():
		return cancelled(p.ctx, opTree)
	}
	j.dir, j.path, j.name, j.err = dir.retain(), append(j.path[:0], path...), name, nil
	// Neither send blocks: each channel has room for every job there is.
	p.work <- j
	p.order <- j
	return nil
}

// combine runs walk and the workers, and puts the results together in order. It
// returns when all of them have ended.
func (p *pipeline) combine(cancel func(), walk func() error) (TreeResult, error) {
	var wg sync.WaitGroup
	for range p.opts.Workers {
		wg.Go(p.hashFiles)
	}
	var walkErr error
	wg.Go(func() {
		walkErr = walk()
		close(p.work)
		close(p.order)
	})
	outer := sha256.New()
	outer.Write(append([]byte(FormatTreeV1), 0))
	res := TreeResult{Format: FormatTreeV1, Root: p.root}
	var first error
	var scratch []byte
	for j := range p.order {
		<-j.done
		switch {
		case first != nil:
		case j.err != nil:
			first = j.err
			cancel()
		default:
			scratch = appendEntry(scratch[:0], j)
			outer.Write(scratch)
			res.Files++
			res.Bytes += j.entry.Size
			if p.opts.CollectFiles {
				res.Entries = append(res.Entries, j.collected())
			}
		}
		p.free <- j
	}
	wg.Wait()
	if first == nil {
		first = walkErr
	}
	if first != nil {
		return TreeResult{}, first
	}
	res.Digest = sum(outer)
	return res, nil
}

func appendEntry(b []byte, j *job) []byte {
	b = binary.BigEndian.AppendUint64(b, uint64(len(j.path)))
	b = append(b, j.path...)
	var x byte
	if j.entry.Executable {
		x = 1
	}
	b = append(b, x)
	b = binary.BigEndian.AppendUint64(b, uint64(j.entry.Size))
	return append(b, j.sum[:]...)
}

func (j *job) collected() TreeEntry {
	e := j.entry
	e.Path = string(j.path)
	e.Digest = godigest.NewDigestFromBytes(godigest.SHA256, j.sum[:])
	return e
}

// hashFiles is one worker.
func (p *pipeline) hashFiles() {
	h := sha256.New()
	buf := make([]byte, blockSize)
	for j := range p.work {
		j.err = p.hashFile(j, h, buf)
		j.dir.release()
		j.dir = nil
		j.done <- struct{}{}
	}
}

func (p *pipeline) hashFile(j *job, h hash.Hash, buf []byte) error {
	if err := cancelled(p.ctx, opTree); err != nil {
		return err
	}
	path := p.root + "/" + string(j.path)
	fd, st, err := regularAt(opTree, path, j.dir.fd, path[len(p.root)+1+j.name:])
	if err != nil {
		return err
	}
	h.Reset()
	err = readAll(p.ctx, opTree, path, fd, &st, buf, func(b []byte) { h.Write(b) })
	_ = unix.Close(fd)
	if err != nil {
		return err
	}
	h.Sum(j.sum[:0])
	j.entry = TreeEntry{
		Size: st.Size, Executable: ownerExecutes(&st), File: fileID(&st), Links: uint64(st.Nlink), //nolint:unconvert // 16 bits on darwin
	}
	return nil
}

func sum(h hash.Hash) godigest.Digest { return godigest.NewDigest(godigest.SHA256, h) }
