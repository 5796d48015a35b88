package provider

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	godigest "github.com/opencontainers/go-digest"

	"github.com/provider-measure/provider-measure/digest"
	"github.com/provider-measure/provider-measure/probe"
)

// probeCode is the code of package probe that err carries, nil when none.
func probeCode(err error) error {
	var pe *probe.Error
	if errors.As(err, &pe) {
		return pe.Code
	}
	return nil
}

// digestError gives a failure of package digest one of the five codes. What is
// not listed takes the fallback.
func digestError(err error, fallback Code, hint string) *Error {
	e := &Error{Code: fallback, Message: err.Error(), Hint: hint, Err: err}
	var de *digest.Error
	if !errors.As(err, &de) {
		return e
	}
	e.Reason, e.Path = de.Code, de.Path
	switch de.Code {
	case digest.CodeMetadataMalformed, digest.CodeNameMismatch, digest.CodeRecordMissing, digest.CodeRecordEmpty,
		digest.CodeRecordNoHash, digest.CodeRecordMalformed, digest.CodeLegacy, digest.CodeAmbiguous, digest.CodeCompositeInvalid:
		e.Code = CodeMalformedRuntime
	case digest.CodeEntrypointInvalid, digest.CodeModuleInvalid, digest.CodeNameInvalid, digest.CodeExclusionInvalid, digest.CodeExclusionUnused:
		e.Code = CodeIdentityIncomplete
	case digest.CodeChanged:
		e.Code = CodeIdentityChanged
	}
	return e
}

// findDistribution finds a distribution in the interpreter's environment. version
// is the one to install where that would mend a failure; "" is any.
func (h *Host) findDistribution(ctx context.Context, name, version string) (*digest.Distribution, *Error) {
	python, err := h.Python(ctx)
	if err != nil {
		return nil, AsError(err, CodeUnavailable)
	}
	d, err := digest.FindDistribution(ctx, digest.Search{Paths: python.Site}, name)
	if err == nil {
		return d, nil
	}
	e := digestError(err, CodeUnavailable, "")
	requirement := name
	if version != "" {
		requirement += "==" + version
	}
	e.Hint = mendingHint(err, python.Executable, requirement)
	return nil, e
}

// mendingHint says what would mend a distribution. pip refuses to replace one
// whose RECORD it can't read, so that --force-reinstall is no help there.
func mendingHint(err error, python, requirement string) string {
	code := digest.Code("")
	var de *digest.Error
	if errors.As(err, &de) {
		code = de.Code
	}
	switch code {
	case digest.CodeNotInstalled:
		return fmt.Sprintf("`%s -m pip install %s`, or choose another environment with --python", python, requirement)
	case digest.CodeAmbiguous:
		return "remove the folder of the version that is not wanted, then install the other one again"
	case digest.CodeLeftover, digest.CodeNoMetadata:
		return fmt.Sprintf("remove the remains, then `%s -m pip install %s`", python, requirement)
	case digest.CodeLegacy:
		return fmt.Sprintf("uninstall it, then install a wheel: `%s -m pip install %s`", python, requirement)
	case digest.CodePermission, digest.CodeIO, digest.CodeDescriptorLimit, digest.CodeChanged, digest.CodeCancelled:
		return ""
	}
	return fmt.Sprintf("install it again into the environment of %s: `%s -m pip install --ignore-installed --no-deps %s`", python, python, requirement)
}

func (h *Host) measureDistribution(ctx context.Context, m *Manifest, id *Identification) (string, godigest.Digest, map[string]any, *Error) {
	d, failure := h.findDistribution(ctx, m.Identity.Distribution, m.Version)
	if failure != nil {
		return "", "", nil, failure
	}
	id.Measured.Distribution = d
	for _, w := range d.Warnings {
		id.Warnings = append(id.Warnings, fmt.Sprintf("%s: %s (%s)", w.Path, w.Detail, w.Code))
	}
	if failure := refuseEditable(d); failure != nil {
		return "", "", nil, failure
	}
	if d.Version != m.Version {
		return "", "", nil, skewOf(m, d.Version, id.Measured)
	}
	inventory, failure := inventoryOf(ctx, d)
	if failure != nil {
		return "", "", nil, failure
	}
	id.Measured.Inventory = inventory
	if failure := h.checkImport(ctx, m.Identity.ImportName, d); failure != nil {
		return "", "", nil, failure
	}
	if m.Identity.VerifyFiles {
		if failure := verifyFiles(ctx, d); failure != nil {
			return "", "", nil, failure
		}
	}
	return d.Version, d.Record.Digest(), map[string]any{"distribution": m.Identity.Distribution}, nil
}

func refuseEditable(d *digest.Distribution) *Error {
	if d.Editable == nil {
		return nil
	}
	gone := ""
	if !d.Editable.CheckoutExists {
		gone = ", which is gone"
	}
	return &Error{
		Code: CodeUnavailable, Reason: ReasonEditable, Path: d.MetadataDir,
		Message: fmt.Sprintf("%s %s is an editable install of %s%s: its RECORD does not name what would run", d.Name, d.Version, d.Editable.URL, gone),
		Hint:    "install a wheel, or declare kind SOURCE_TREE with an entrypoint and this distribution",
	}
}

// inventoryOf lists what RECORD names and refuses what would let its digest
// mean less than it claims.
func inventoryOf(ctx context.Context, d *digest.Distribution) (*digest.Inventory, *Error) {
	if pairs := d.Record.Conflicts(); len(pairs) > 0 {
		first := pairs[0]
		if first[0].Line > first[1].Line {
			first[0], first[1] = first[1], first[0]
		}
		return nil, &Error{
			Code: CodeMalformedRuntime, Reason: ReasonRecordConflict, Path: filepath.Join(d.MetadataDir, "RECORD"),
			Message: fmt.Sprintf("RECORD names %q twice, in lines %d and %d that disagree", first[0].Path, first[0].Line, first[1].Line),
			Hint:    "install the distribution again",
		}
	}
	inventory, err := d.Inventory(ctx)
	if err != nil {
		return nil, digestError(err, CodeUnavailable, "")
	}
	if n := len(inventory.Refused); n > 0 {
		r := inventory.Refused[0]
		return nil, &Error{
			Code: CodeMalformedRuntime, Reason: ReasonRecordedRefused, Path: r.Row.Path,
			Message: fmt.Sprintf("RECORD line %d names %q, which is refused: %s%s", r.Row.Line, r.Row.Path, r.Why, andMore(n-1)),
			Hint:    "install the distribution again, from a wheel whose RECORD names only its own files",
		}
	}
	if n := len(inventory.Missing); n > 0 {
		return nil, &Error{
			Code: CodeUnavailable, Reason: ReasonRecordedMissing, Path: filepath.Join(d.Site, filepath.FromSlash(inventory.Missing[0].Path)),
			Message: fmt.Sprintf("%s %s lacks files that its RECORD names: %s", d.Name, d.Version, rowNames(inventory.Missing)),
			Hint:    "install the distribution again",
		}
	}
	return &inventory, nil
}

func andMore(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(", and %d more", n)
}

func rowNames(rows []digest.Row) string {
	const most = 5
	names := make([]string, 0, most)
	for _, r := range rows[:min(len(rows), most)] {
		names = append(names, fmt.Sprintf("%+q", r.Path))
	}
	return strings.Join(names, ", ") + andMore(len(rows)-most)
}

// checkImport makes sure, without importing, that `import name` would load a
// file of this very distribution: a folder of the same name earlier on the path,
// left by hand or by another distribution, would run instead of what was
// measured.
func (h *Host) checkImport(ctx context.Context, name string, d *digest.Distribution) *Error {
	python, err := h.Python(ctx)
	if err != nil {
		return AsError(err, CodeUnavailable)
	}
	module, err := digest.FindModule(python.ModulePath(), name)
	if err != nil {
		e := digestError(err, CodeUnavailable, "install the distribution again")
		e.Reason, e.Message = ReasonImportMissing, fmt.Sprintf("%s is installed, but module %q is not to be found: %v", d.Name, name, err)
		return e
	}
	rel, err := filepath.Rel(d.Site, module.Path)
	if err == nil && recorded(d.Record, filepath.ToSlash(rel), module.Kind == digest.ModuleNamespace) {
		return nil
	}
	return &Error{
		Code: CodeUnavailable, Reason: ReasonImportShadowed, Path: module.Path,
		Message: fmt.Sprintf("import %s would load %s, which RECORD of %s %s does not name", name, module.Path, d.Name, d.Version),
		Hint:    "remove the other one, or install the distribution again",
	}
}

// recorded reports whether RECORD names path, or anything below it for the
// folder of a namespace package.
func recorded(r *digest.Record, path string, folder bool) bool {
	for _, row := range r.Rows {
		if row.Path == path || (folder && strings.HasPrefix(row.Path, path+"/")) {
			return true
		}
	}
	return false
}

// verifyFiles rehashes every recorded file.
func verifyFiles(ctx context.Context, d *digest.Distribution) *Error {
	report, err := d.Verify(ctx)
	if err != nil {
		return digestError(err, CodeUnavailable, "")
	}
	if report.Verified() {
		return nil
	}
	var wrong []digest.Row
	statuses := map[string]bool{}
	detail := ""
	for _, row := range report.Problems() {
		if row.LineEndingsOnly && detail == "" {
			detail = "; at least one differs only in line endings"
		}
		wrong, statuses[string(row.Status)] = append(wrong, row.Row), true
	}
	e := &Error{
		Code: CodeUnavailable, Reason: ReasonFilesDiffer, Path: d.MetadataDir,
		Message: fmt.Sprintf("%s %s has files that do not verify (%s): %s%s", d.Name, d.Version, strings.Join(slices.Sorted(maps.Keys(statuses)), ", "), rowNames(wrong), detail),
		Hint:    "install the distribution again",
	}
	if len(wrong) > 0 {
		e.Path = filepath.Join(d.Site, filepath.FromSlash(wrong[0].Path))
	}
	return e
}
