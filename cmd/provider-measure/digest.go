package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	godigest "github.com/opencontainers/go-digest"
	"github.com/urfave/cli/v2"

	"github.com/provider-measure/provider-measure/digest"
	"github.com/provider-measure/provider-measure/provider"
)

const (
	flagExclude    = "exclude"
	flagEntrypoint = "entrypoint"
)

func (s *session) digestCommand() *cli.Command {
	return &cli.Command{
		Name:      "digest",
		Usage:     "print the digest of executables, trees, RECORDs, or a composite of records",
		ArgsUsage: "executable|tree|record|composite PATH...",
		Description: "executable FILE...   the bytes of each file, links resolved\n" +
			"tree DIR...          each directory, provider-measure.source-tree.v1; with --entrypoint, the Python\n" +
			"                     package of module:attribute on the search path DIR..., jacobian.python-package.v2\n" +
			"record PATH...       each RECORD file, or .dist-info folder that holds one; the manifest only, not the files\n" +
			"composite FILE...    runtime identity records as JSON, in order, as one digest",
		Flags: []cli.Flag{
			&cli.StringSliceFlag{Name: flagExclude, Usage: "tree: leave out the file or directory `PATH`, relative to DIR; may be repeated"},
			&cli.StringFlag{Name: flagEntrypoint, Usage: "tree: `MODULE:ATTRIBUTE` of a Python package on the search path"},
		},
		Action: s.digest,
	}
}

// digestResult is one line of the digest command.
type digestResult struct {
	Kind     digest.Kind     `json:"kind"`
	Path     string          `json:"path"`
	Digest   godigest.Digest `json:"digest"`
	Format   digest.Format   `json:"format,omitempty"`
	Bytes    *int64          `json:"bytes,omitempty"`
	Files    *int64          `json:"files,omitempty"`
	Rows     *int            `json:"rows,omitempty"`
	Findings []string        `json:"findings,omitempty"` // record: what identification would refuse
}

func (s *session) digest(c *cli.Context) error {
	if err := s.checkFormat(c); err != nil {
		return err
	}
	kind, paths := c.Args().First(), c.Args().Tail()
	if len(paths) == 0 {
		return usage("digest takes a kind (executable, tree, record, composite) and at least one path")
	}
	if kind != "tree" && (c.IsSet(flagExclude) || c.IsSet(flagEntrypoint)) {
		return usage("--%s and --%s are for digest tree", flagExclude, flagEntrypoint)
	}
	var results []digestResult
	var err error
	switch kind {
	case "executable":
		results, err = each(paths, func(p string) (digestResult, error) { return digestExecutable(c, p) })
	case "tree":
		results, err = digestTrees(c, paths)
	case "record":
		results, err = each(paths, func(p string) (digestResult, error) { return digestRecord(c, p) })
	case "composite":
		results, err = s.digestComposite(c, paths)
	default:
		return usage("digest %q: the kinds are executable, tree, record and composite", kind)
	}
	if err != nil {
		return err
	}
	if err := s.print(results, func(b *strings.Builder) {
		for _, r := range results {
			fmt.Fprintf(b, "%s  %s\n", r.Digest, escape(r.Path))
		}
	}); err != nil {
		return err
	}
	for _, r := range results {
		for _, f := range r.Findings {
			s.note(noteFinding, r.Path+": "+f)
			s.status = exitFinding
		}
	}
	return nil
}

func each(paths []string, one func(string) (digestResult, error)) ([]digestResult, error) {
	results := make([]digestResult, 0, len(paths))
	for _, p := range paths {
		r, err := one(p)
		if err != nil {
			return nil, err
		}
		results = append(results, r)
	}
	return results, nil
}

func digestExecutable(c *cli.Context, path string) (digestResult, error) {
	exe, err := digest.Executable(c.Context, path)
	if err != nil {
		return digestResult{}, err
	}
	return digestResult{Kind: digest.ExecutableKind, Path: exe.Path, Digest: exe.Digest, Bytes: &exe.File.Size}, nil
}

func digestTrees(c *cli.Context, paths []string) ([]digestResult, error) {
	options := digest.TreeOptions{Exclude: c.StringSlice(flagExclude)}
	if entrypoint := c.String(flagEntrypoint); entrypoint != "" {
		tree, err := digest.PythonPackage(c.Context, paths, entrypoint, options)
		if err != nil {
			return nil, err
		}
		return []digestResult{treeResult(tree)}, nil
	}
	return each(paths, func(p string) (digestResult, error) {
		tree, err := digest.Tree(c.Context, p, options)
		if err != nil {
			return digestResult{}, err
		}
		return treeResult(tree), nil
	})
}

func treeResult(tree digest.TreeResult) digestResult {
	return digestResult{
		Kind: digest.SourceTree, Path: tree.Root, Digest: tree.Digest, Format: tree.Format, Bytes: &tree.Bytes, Files: &tree.Files,
	}
}

// digestRecord takes a RECORD file or the .dist-info folder around it. The
// digest is over all rows; what identification would refuse is a finding.
func digestRecord(c *cli.Context, path string) (digestResult, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		folder := path
		path = filepath.Join(path, "RECORD")
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			return digestResult{}, &commandError{
				Code: digest.CodeRecordMissing, Message: folder + ": no RECORD", Path: folder, exit: exitFinding, err: err,
				Hint: "name a RECORD file, or a .dist-info folder with one",
			}
		}
	}
	d, err := digest.OpenRecord(c.Context, path)
	if err != nil {
		return digestResult{}, err
	}
	rows := len(d.Record.Rows)
	result := digestResult{Kind: digest.PythonRecord, Path: path, Digest: d.Record.Digest(), Rows: &rows}
	for _, pair := range d.Record.Conflicts() {
		result.Findings = append(result.Findings, fmt.Sprintf("lines %d and %d disagree about %q",
			min(pair[0].Line, pair[1].Line), max(pair[0].Line, pair[1].Line), pair[0].Path))
	}
	inventory, err := d.Inventory(c.Context)
	if err != nil {
		return digestResult{}, err
	}
	for _, row := range inventory.Missing {
		result.Findings = append(result.Findings, fmt.Sprintf("line %d: %q is not on disk", row.Line, row.Path))
	}
	for _, refused := range inventory.Refused {
		result.Findings = append(result.Findings, fmt.Sprintf("line %d: %q is refused: %s", refused.Row.Line, refused.Row.Path, refused.Why))
	}
	return result, nil
}

// digestComposite reads runtime records, - being standard input.
func (s *session) digestComposite(c *cli.Context, paths []string) ([]digestResult, error) {
	var records [][]byte
	for _, p := range paths {
		data, err := s.readInput(c.Context, p)
		if err != nil {
			return nil, err
		}
		rt, err := provider.ParseRuntime(data)
		if err != nil {
			return nil, atPath(err, p)
		}
		if !rt.Available() {
			return nil, &commandError{Code: provider.CodeUnavailable, Message: fmt.Sprintf("component %s is UNAVAILABLE: %s", rt.Provider(), rt.Diagnostic()), Path: p, exit: exitFinding}
		}
		canonical, err := rt.MarshalJSON()
		if err != nil {
			return nil, err
		}
		records = append(records, canonical)
	}
	d, err := digest.Composite(records)
	if err != nil {
		return nil, err
	}
	return []digestResult{{Kind: digest.CompositeKind, Path: strings.Join(paths, " "), Digest: d}}, nil
}

func atPath(err error, path string) error {
	var pe *provider.Error
	if errors.As(err, &pe) && pe.Path == "" {
		located := *pe
		located.Path = path
		return &located
	}
	return err
}
