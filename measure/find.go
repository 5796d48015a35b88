package measure

import (
	"context"
	"os"
	"path/filepath"

	"github.com/provider-measure/provider-measure/provider"
)

// lookup reads the host's environment through what package provider gives to
// every child, so that a measurement sees no other environment than its host.
func (m *measurement) lookup(ctx context.Context) func(string) (string, bool) {
	spec, err := m.host.Spec(ctx, m.manifest, provider.Measured{}, provider.Command{Argv: []string{"/"}})
	if err != nil || spec.Env.Lookup == nil {
		return func(string) (string, bool) { return "", false }
	}
	return spec.Env.Lookup
}

// findProgram looks for a program in a folder, then on the host's PATH; "" when
// it is in neither. Relative entries of PATH are skipped.
func (m *measurement) findProgram(ctx context.Context, beside, name string) string {
	dirs := []string{}
	if beside != "" {
		dirs = append(dirs, beside)
	}
	if path, ok := m.lookup(ctx)("PATH"); ok {
		dirs = append(dirs, filepath.SplitList(path)...)
	}
	for _, dir := range dirs {
		if !filepath.IsAbs(dir) {
			continue
		}
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		if err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
			return path
		}
	}
	return ""
}
