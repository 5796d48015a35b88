package provider

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	godigest "github.com/opencontainers/go-digest"

	"github.com/provider-measure/provider-measure/digest"
)

// Revalidate measures the identity that rt records once more, without its
// manifest, and returns nil when it is unchanged. Distributions and entrypoints
// are looked for in the environment of this host's interpreter. No health probe
// is run and nothing is imported.
//
// Every failure is an [*Error] with one of the five codes but the context's own:
// [CodeIdentityIncomplete] for a record that is UNAVAILABLE or lacks what is
// needed, [CodeMalformedRuntime], [CodeUnavailable] when what was measured is
// gone, and [CodeIdentityChanged] when it differs.
func (h *Host) Revalidate(ctx context.Context, rt Runtime) error {
	e := h.revalidate(ctx, rt)
	if err := ctx.Err(); err != nil {
		return err
	}
	if e == nil {
		return nil
	}
	if e.Provider == "" {
		e.Provider = rt.Provider()
	}
	return e
}

func (h *Host) revalidate(ctx context.Context, rt Runtime) *Error {
	if !rt.Available() {
		return &Error{Code: CodeIdentityIncomplete, Reason: ReasonRecordUnavailable, Message: "the recorded runtime is not AVAILABLE, so it has no identity to measure again: " + rt.Diagnostic()}
	}
	config, err := rt.configuration()
	if err != nil {
		return AsError(err, CodeMalformedRuntime)
	}
	switch rt.Kind() {
	case digest.ExecutableKind:
		_, e := sameExecutable(ctx, rt, config)
		return e
	case digest.SourceTree:
		return h.revalidateTree(ctx, rt, config)
	case digest.PythonRecord:
		return h.revalidateDistribution(ctx, rt, config)
	case digest.CompositeKind:
		return h.revalidateComposite(ctx, rt)
	}
	return &Error{Code: CodeMalformedRuntime, Reason: ReasonRecordInvalid, Message: fmt.Sprintf("digest kind %q", rt.Kind())}
}

// hintChanged is what mends an identity that moved.
const hintChanged = "identify the provider again and authorize what you find, or restore what was recorded"

// changed compares; path is what to name.
func changed(rt Runtime, measured godigest.Digest, path string) *Error {
	if measured == rt.Digest() {
		return nil
	}
	return &Error{
		Code: CodeIdentityChanged, Reason: ReasonDigestDiffers, Path: path,
		Message: fmt.Sprintf("measured %s, recorded %s", measured, rt.Digest()),
		Hint:    hintChanged,
	}
}

func (h *Host) revalidateTree(ctx context.Context, rt Runtime, config configuration) *Error {
	if config.Root != "" {
		options := digest.TreeOptions{Exclude: config.Exclude}
		tree, err := digest.Tree(ctx, config.Root, options)
		if err != nil {
			return digestError(err, CodeUnavailable, "")
		}
		e := changed(rt, tree.Digest, tree.Root)
		if e != nil {
			noteLineEndings(ctx, e, rt.Digest(), config.Root, options)
		}
		return e
	}
	search := append(append([]string(nil), config.SearchPath...), h.commonModulePath(ctx)...)
	tree, err := digest.PythonPackage(ctx, search, config.Entrypoint, digest.TreeOptions{})
	if err != nil {
		return digestError(err, CodeUnavailable, "")
	}
	return changed(rt, tree.Digest, tree.Root)
}

func (h *Host) revalidateDistribution(ctx context.Context, rt Runtime, config configuration) *Error {
	d, failure := h.findDistribution(ctx, config.Distribution, rt.Version())
	if failure != nil {
		return failure
	}
	if failure := refuseEditable(d); failure != nil {
		return failure
	}
	if e := changed(rt, d.Record.Digest(), d.MetadataDir); e != nil {
		if d.Version != rt.Version() {
			e.Reason = ReasonVersionSkew
			e.Message += fmt.Sprintf(" (version %s is installed, %s is recorded)", d.Version, rt.Version())
		}
		return e
	}
	if d.Version != rt.Version() {
		return &Error{
			Code: CodeIdentityChanged, Reason: ReasonVersionSkew, Path: d.MetadataDir,
			Message: fmt.Sprintf("METADATA has version %s, %s is recorded, and RECORD is the same", d.Version, rt.Version()),
			Hint:    "install the distribution again",
		}
	}
	if _, failure := inventoryOf(ctx, d); failure != nil {
		return failure
	}
	if rt.r.ImportName != nil {
		return h.checkImport(ctx, *rt.r.ImportName, d)
	}
	return nil
}

// revalidateComposite measures each component against its own record, then the
// list against the composite's digest, so that a record that was edited inside
// is not believed.
func (h *Host) revalidateComposite(ctx context.Context, rt Runtime) *Error {
	components, err := rt.components()
	if err != nil {
		return AsError(err, CodeMalformedRuntime)
	}
	var records [][]byte
	for _, c := range components {
		if e := h.revalidate(ctx, c); e != nil {
			if e.Provider == "" {
				e.Provider = c.Provider()
			}
			return e
		}
		data, err := json.Marshal(c)
		if err != nil {
			return AsError(err, CodeMalformedRuntime)
		}
		records = append(records, data)
	}
	d, err := digest.Composite(records)
	if err != nil {
		return digestError(err, CodeMalformedRuntime, "")
	}
	return changed(rt, d, "")
}

// asContext lets a caller tell a cancelled check from a failed one.
func asContext(ctx context.Context, err error) error {
	if cause := ctx.Err(); cause != nil && !errors.Is(err, cause) {
		return cause
	}
	return err
}

// noteLineEndings adds to a mismatch that it is one of line ends and nothing
// else, when the tree with all of them turned one way is what was recorded.
func noteLineEndings(ctx context.Context, e *Error, want godigest.Digest, root string, options digest.TreeOptions) {
	lf, crlf, err := digest.LineEndingDigests(ctx, root, options)
	if err != nil || (lf != want && crlf != want) {
		return
	}
	e.Reason = ReasonLineEndings
	e.Message += "; the trees differ only in line endings"
	e.Hint = "check the files out again with the line endings that were recorded (git config core.autocrlf)"
}
