package digest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
)

// Code is the stable reason of a failure. A Code is an error, so that
// errors.Is(err, digest.CodeNotRegular) works. Codes are in reports for ever
// and are never reused.
type Code string

// Error returns the code itself.
func (c Code) Error() string { return string(c) }

// Codes about files and trees.
const (
	// CodeInvalidArgument: the caller's argument cannot be used.
	CodeInvalidArgument Code = "digest.invalid_argument"
	// CodeNotFound: the path names nothing.
	CodeNotFound Code = "digest.not_found"
	// CodePermission: the operating system refused to read the path.
	CodePermission Code = "digest.permission_denied"
	// CodeIO: a system call failed for another reason.
	CodeIO Code = "digest.io"
	// CodeDescriptorLimit: no more files may be open in this process or host.
	CodeDescriptorLimit Code = "digest.descriptor_limit"
	// CodeNotRegular: a symbolic link, FIFO, socket, device or directory stands
	// where only a regular file (or, in a tree, a directory) can be measured.
	CodeNotRegular Code = "digest.not_regular"
	// CodeNotDirectory: the root of a tree is a file.
	CodeNotDirectory Code = "digest.not_directory"
	// CodeChanged: a file or directory changed while it was being measured.
	CodeChanged Code = "digest.changed"
	// CodeTooDeep: directories are nested deeper than the limit.
	CodeTooDeep Code = "digest.too_deep"
	// CodeTooLarge: a metadata file is larger than the limit for its kind.
	CodeTooLarge Code = "digest.too_large"
	// CodeExclusionInvalid: an exclusion is not a clean relative path, or the
	// format has none.
	CodeExclusionInvalid Code = "digest.exclusion_invalid"
	// CodeExclusionUnused: an exclusion matched nothing.
	CodeExclusionUnused Code = "digest.exclusion_unused"
	// CodeCancelled: the context ended first.
	CodeCancelled Code = "digest.cancelled"
)

// Codes about Python modules and distributions.
const (
	// CodeEntrypointInvalid: not of the form module.sub:attribute.
	CodeEntrypointInvalid Code = "digest.entrypoint_invalid"
	// CodeModuleInvalid: not a dotted module name.
	CodeModuleInvalid Code = "digest.module_invalid"
	// CodeModuleNotFound: no such module on the search path.
	CodeModuleNotFound Code = "digest.module_not_found"
	// CodeNamespacePackage: a directory without __init__.py, which has no one
	// place and so no identity.
	CodeNamespacePackage Code = "digest.namespace_package"
	// CodeNameInvalid: not a distribution name.
	CodeNameInvalid Code = "digest.name_invalid"
	// CodeNotInstalled: no trace of the distribution on the search path.
	CodeNotInstalled Code = "digest.not_installed"
	// CodeNoMetadata: the import package is there, but no metadata for it.
	CodeNoMetadata Code = "digest.no_metadata"
	// CodeLeftover: only the remains of an interrupted or partial uninstall.
	CodeLeftover Code = "digest.leftover"
	// CodeLegacy: installed with egg-info or egg-link, which hold no hashes.
	CodeLegacy Code = "digest.legacy_metadata"
	// CodeAmbiguous: two installations of one name in one directory.
	CodeAmbiguous Code = "digest.ambiguous_distribution"
	// CodeMetadataMalformed: METADATA or direct_url.json does not parse.
	CodeMetadataMalformed Code = "digest.metadata_malformed"
	// CodeNameMismatch: METADATA names another distribution than its folder.
	CodeNameMismatch Code = "digest.name_mismatch"
	// CodeRecordMissing: installed, but without RECORD.
	CodeRecordMissing Code = "digest.record_missing"
	// CodeRecordEmpty: RECORD has no rows.
	CodeRecordEmpty Code = "digest.record_empty"
	// CodeRecordNoHash: no row of RECORD has a hash.
	CodeRecordNoHash Code = "digest.record_no_hash"
	// CodeRecordMalformed: a row of RECORD does not parse; Line says which.
	CodeRecordMalformed Code = "digest.record_malformed"
)

// Codes about composites and native code.
const (
	// CodeCompositeInvalid: no component, a component that is not a JSON object
	// with a provider, or two of one provider.
	CodeCompositeInvalid Code = "digest.composite_invalid"
	// CodeELFMalformed: an ELF file whose headers contradict themselves.
	CodeELFMalformed Code = "digest.elf_malformed"
)

// Error is a failure of this package.
type Error struct {
	Code   Code
	Op     string // what was being done: "tree", "record", "find distribution"
	Path   string // the file at fault, absolute where known; bytes, not text
	Line   int    // line in Path or in the parsed data, from 1; 0 if none
	Detail string // the reason for people; may change
	Err    error  // cause, may be nil
}

// Error returns one line. Bytes in names that are not printable are escaped.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Op)
	if e.Path != "" {
		fmt.Fprintf(&b, " %q", e.Path)
	}
	if e.Line > 0 {
		fmt.Fprintf(&b, ": line %d", e.Line)
	}
	if e.Detail != "" {
		b.WriteString(": " + e.Detail)
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	fmt.Fprintf(&b, " (%s)", e.Code)
	return b.String()
}

// Unwrap returns the code, then the cause.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Code}
	}
	return []error{e.Code, e.Err}
}

// fail builds an Error without a cause.
func fail(code Code, op, path, detail string, args ...any) *Error {
	if len(args) > 0 {
		detail = fmt.Sprintf(detail, args...)
	}
	return &Error{Code: code, Op: op, Path: path, Detail: detail}
}

// sysFail gives the failure of a system call its code.
func sysFail(op, path string, err error) *Error {
	e := &Error{Code: CodeIO, Op: op, Path: path, Err: err}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.Code = CodeNotFound
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ENAMETOOLONG):
		e.Code = CodeNotFound // nothing can be there
	case errors.Is(err, fs.ErrPermission):
		e.Code = CodePermission
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		e.Code = CodeDescriptorLimit
	case errors.Is(err, syscall.ELOOP):
		e.Code, e.Detail = CodeNotRegular, "symbolic link"
	case errors.Is(err, syscall.ENXIO), errors.Is(err, syscall.EOPNOTSUPP):
		// open(2) of a socket or of a device without a driver.
		e.Code, e.Detail = CodeNotRegular, "socket or device"
	}
	return e
}

// cancelled reports the end of ctx; nil while it runs.
func cancelled(ctx context.Context, op string) *Error {
	if ctx.Err() == nil {
		return nil
	}
	return &Error{Code: CodeCancelled, Op: op, Err: context.Cause(ctx)}
}
