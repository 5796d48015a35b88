package provider

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/provider-measure/provider-measure/digest"
	"github.com/provider-measure/provider-measure/probe"
)

// The exit codes of importCheck; an attribute that is missing adds its index to
// the last one. Nothing that the module prints can be taken for the answer.
const (
	importElsewhere  = 98
	importFailed     = 99
	attributeMissing = 100
)

// importCheck imports a module, compares the file that it came from with the
// expected one ("" expects none), and looks for attributes.
const importCheck = `
import importlib, os, sys
expected, name = sys.argv[1:3]
try:
    module = importlib.import_module(name)
except BaseException as error:
    print(type(error).__name__ + ": " + str(error), file=sys.stderr, flush=True)
    os._exit(99)
origin = getattr(getattr(module, "__spec__", None), "origin", None)
if expected and (not isinstance(origin, str) or os.path.realpath(origin) != os.path.realpath(expected)):
    print(origin, file=sys.stderr, flush=True)
    os._exit(98)
for index, attribute in enumerate(sys.argv[3:]):
    if not hasattr(module, attribute):
        os._exit(100 + index)
os._exit(0)`

// Ready is the check of first use: the module imports and has its attributes,
// the executable answers, and the manifest's own readiness probe passes. m may
// be nil for a record whose manifest is not at hand; then only what the record
// itself says is checked. measured may be zero for a record that was read back;
// an executable is then measured again before it is run. Composites are checked component by component.
//
// The failure is an [*Error] with [CodeReadinessFailed], [CodeUnavailable] for a
// runtime that is not AVAILABLE or has no interpreter any more,
// [CodeIdentityIncomplete], or [CodeIdentityChanged] for an executable that is no
// longer the recorded one; or ctx's error. An import error's own text is in the
// message, for operators.
func (h *Host) Ready(ctx context.Context, m *Manifest, rt Runtime, measured Measured) error {
	if !rt.Available() {
		return &Error{Code: CodeUnavailable, Reason: ReasonRecordUnavailable, Provider: rt.Provider(), Message: rt.Diagnostic()}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := h.readyByKind(ctx, rt, measured); err != nil {
		return asContext(ctx, err)
	}
	if m == nil {
		return nil
	}
	if measured.Executable == nil && rt.Kind() == digest.ExecutableKind {
		exe, err := remeasured(ctx, rt)
		if err != nil {
			return asContext(ctx, err)
		}
		measured.Executable = exe
	}
	p := m.Probes.Readiness
	if p == nil && rt.Kind() == digest.ExecutableKind {
		p = m.Probes.Health // it answers: that is what being ready means for it
	}
	if p == nil {
		return nil
	}
	if _, err := h.RunProbe(ctx, m, measured, p, CodeReadinessFailed); err != nil {
		return asContext(ctx, err)
	}
	return nil
}

// remeasured is the executable of a record that was read back, measured again so
// that a probe can be held to it.
func remeasured(ctx context.Context, rt Runtime) (*digest.ExecutableResult, error) {
	config, err := rt.configuration()
	if err != nil {
		return nil, err
	}
	exe, e := sameExecutable(ctx, rt, config)
	if e != nil {
		e.Provider = rt.Provider()
		return nil, e
	}
	return exe, nil
}

func (h *Host) readyByKind(ctx context.Context, rt Runtime, measured Measured) error {
	config, err := rt.configuration()
	if err != nil {
		return err
	}
	switch rt.Kind() {
	case digest.ExecutableKind:
		return executableReady(rt, config)
	case digest.PythonRecord:
		return h.importReady(ctx, rt)
	case digest.CompositeKind:
		return h.componentsReady(ctx, rt, measured)
	}
	return nil
}

func executableReady(rt Runtime, config configuration) error {
	info, err := os.Stat(config.Executable)
	e := &Error{Code: CodeReadinessFailed, Reason: ReasonExecutableMissing, Provider: rt.Provider(), Path: config.Executable}
	switch {
	case err != nil:
		e.Message, e.Err = err.Error(), err
	case !info.Mode().IsRegular():
		e.Message = config.Executable + " is not a regular file"
	case info.Mode().Perm()&0o111 == 0:
		e.Message, e.Hint = config.Executable+" has no execute permission", "chmod +x "+config.Executable
	default:
		return nil
	}
	return e
}

func (h *Host) importReady(ctx context.Context, rt Runtime) error {
	if rt.r.ImportName == nil {
		return &Error{Code: CodeIdentityIncomplete, Reason: ReasonRecordIncomplete, Provider: rt.Provider(), Message: "the record has no distribution_import_name"}
	}
	python, err := h.Python(ctx)
	if err != nil {
		return err
	}
	name, attributes := *rt.r.ImportName, rt.r.RequiredAttribs
	expected, failure := h.importOrigin(python, name)
	if failure != nil {
		failure.Provider = rt.Provider()
		return failure
	}
	args := append([]string{python.Executable, "-I", "-B", "-c", importCheck, expected, name}, attributes...)
	result, err := h.options.Run(ctx, probe.Spec{
		Path: python.Executable, Args: args, ScratchParent: h.options.TempDir,
		Limits: probe.Limits{Wall: 120 * time.Second, Stdout: 1 << 20, Stderr: 1 << 20},
	})
	if err != nil {
		e := AsError(err, CodeReadinessFailed)
		return &Error{Code: e.Code, Reason: cmp.Or(probeCode(err), error(ReasonProbeFailed)), Provider: rt.Provider(), Message: e.Message, Err: err}
	}
	if result.Outcome == probe.Exited && *result.ExitCode == 0 {
		return nil
	}
	e := &Error{
		Code: CodeReadinessFailed, Reason: ReasonImportFailed, Provider: rt.Provider(),
		Hint: fmt.Sprintf("see what `%s -I -c 'import %s'` says; a distribution that it needs may be missing", python.Executable, name),
	}
	e.Message = fmt.Sprintf("import %s: %s", name, describe(result))
	if result.Outcome == probe.Exited {
		if i := *result.ExitCode - attributeMissing; i >= 0 && i < len(attributes) {
			e.Reason, e.Message = ReasonAttributeMissing, fmt.Sprintf("module %s has no attribute %s", name, attributes[i])
			e.Hint = "install the distribution again; it is not the one that was recorded, or its build is incomplete"
		}
		switch *result.ExitCode {
		case importFailed:
			e.Message = fmt.Sprintf("import %s failed: %s", name, strings.TrimSpace(excerpt(result.Stderr)))
		case importElsewhere:
			e.Reason, e.Path = ReasonImportShadowed, expected
			e.Message = fmt.Sprintf("import %s loads %s and not %s: something changes the module path when the interpreter starts", name, excerpt(bytes.TrimSpace(result.Stderr)), expected)
			e.Hint = "look for .pth files with import lines, sitecustomize and the like in the environment"
		}
	}
	return e
}

// importOrigin is the file that an import must load by what the files say, ""
// for a namespace, which has none.
func (h *Host) importOrigin(python *Python, name string) (string, *Error) {
	module, err := digest.FindModule(python.ModulePath(), name)
	if err != nil {
		e := digestError(err, CodeReadinessFailed, "install the distribution again")
		e.Code, e.Reason = CodeReadinessFailed, ReasonImportMissing
		return "", e
	}
	if module.Kind == digest.ModuleNamespace {
		return "", nil
	}
	return module.Path, nil
}

func (h *Host) componentsReady(ctx context.Context, rt Runtime, measured Measured) error {
	components, err := rt.components()
	if err != nil {
		return err
	}
	for i, c := range components {
		var m *Manifest
		var inner Measured
		if i < len(measured.Components) {
			m, inner = measured.Components[i].Manifest, measured.Components[i].Measured
		}
		if err := h.Ready(ctx, m, c, inner); err != nil {
			return err
		}
	}
	return nil
}
