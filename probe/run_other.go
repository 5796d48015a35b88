//go:build !linux && !darwin

package probe

import "context"

// Run returns CodeNotSupported: this operating system has no engine. A Spec that
// would be refused elsewhere is refused first.
func Run(_ context.Context, spec Spec) (*Result, error) {
	if _, err := spec.check(); err != nil {
		return nil, err
	}
	return nil, &Error{Code: CodeNotSupported, Op: "run", Path: spec.Path}
}

// HostCapabilities reports that nothing can be enforced or measured.
func HostCapabilities(context.Context) Report {
	return Report{EngineReason: "this operating system has no engine"}
}
