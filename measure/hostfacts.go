package measure

import (
	"context"

	"github.com/provider-measure/provider-measure/provider"
)

// ReadEnvironment reads the facts of this host that numbers depend on, for a
// report without a measurement. What can't be obtained is null and named in
// Unknown.
func ReadEnvironment(ctx context.Context, h *provider.Host) Environment {
	return hostEnvironment(ctx, func(ctx context.Context) (*Interpreter, string) { return interpreterOf(ctx, h) })
}

// interpreterOf is the host's interpreter, or why there is none to name.
func interpreterOf(ctx context.Context, h *provider.Host) (*Interpreter, string) {
	python, err := h.Python(ctx)
	if err != nil {
		return nil, err.Error()
	}
	if python.Version == "" {
		return nil, python.Executable + " tells no version by its files"
	}
	return &Interpreter{Executable: python.Executable, Version: python.Version}, ""
}
