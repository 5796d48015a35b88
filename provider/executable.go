package provider

import (
	"context"
	"fmt"
	"strings"

	godigest "github.com/opencontainers/go-digest"

	"github.com/provider-measure/provider-measure/digest"
	"github.com/provider-measure/provider-measure/internal/hostpath"
)

func (h *Host) measureExecutable(ctx context.Context, m *Manifest, id *Identification) (string, godigest.Digest, map[string]any, *Error) {
	path := m.Identity.Executable
	if !strings.HasPrefix(path, "/") {
		search, _ := h.options.Lookup("PATH")
		found, ok := hostpath.Find(search, path)
		if !ok {
			return "", "", nil, &Error{
				Code: CodeUnavailable, Reason: ReasonExecutableMissing, Path: path,
				Message: fmt.Sprintf("executable %q is not on PATH", path),
				Hint:    fmt.Sprintf("install %s %s, and put its folder on PATH", m.ID, m.Version),
			}
		}
		path = found
	}
	exe, err := digest.Executable(ctx, path)
	if err != nil {
		return "", "", nil, digestError(err, CodeUnavailable, "")
	}
	id.Measured.Executable = &exe
	return "", exe.Digest, map[string]any{"executable": exe.Path}, nil
}

// sameExecutable measures a record's executable and compares.
func sameExecutable(ctx context.Context, rt Runtime, config configuration) (*digest.ExecutableResult, *Error) {
	exe, err := digest.Executable(ctx, config.Executable)
	if err != nil {
		return nil, digestError(err, CodeUnavailable, "")
	}
	if exe.Path != config.Executable {
		return nil, &Error{
			Code: CodeIdentityChanged, Reason: ReasonDigestDiffers, Path: config.Executable,
			Message: fmt.Sprintf("%s has become a link to %s", config.Executable, exe.Path),
		}
	}
	return &exe, changed(rt, exe.Digest, exe.Path)
}
