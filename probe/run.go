package probe

import (
	"context"
	"errors"
)

// Run runs one program to its end and returns when no descendant of it is left.
//
// The error is not nil only when spec is refused, when a required property
// cannot be enforced, when the program could not be observed, or when
// spec.Inspect failed. A program that exits non-zero, is killed by a limit or
// cannot be started is a [Result].
func Run(ctx context.Context, spec Spec) (*Result, error) {
	if _, err := spec.check(); err != nil {
		return nil, err
	}
	return nil, &Error{Code: CodeNotSupported, Op: "run", Path: spec.Path, Err: errors.Join(ctx.Err(), CodeNotSupported)}
}

// HostCapabilities reports what this host can enforce and measure. It starts no
// program.
func HostCapabilities(ctx context.Context) Report { return Report{} }
