package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/provider-measure/provider-measure/internal/nearest"
	"github.com/provider-measure/provider-measure/provider"
)

// open lays the built-in workers out, reads the operator's manifests and returns
// a Host that knows them all. What it made is removed when the session ends.
func (s *session) open(c *cli.Context) (*provider.Host, error) {
	if err := s.checkFormat(c); err != nil {
		return nil, err
	}
	manifests, remove, err := provider.OpenBuiltins("")
	s.closes = append(s.closes, remove)
	if err != nil {
		return nil, err
	}
	for _, dir := range s.manifestDirs(c) {
		own, err := provider.LoadManifestDir(dir)
		if err != nil {
			return nil, err
		}
		manifests = append(manifests, own...)
	}
	set, err := provider.NewSet(manifests...)
	if err != nil {
		return nil, err
	}
	return provider.NewHost(set, provider.HostOptions{Lookup: s.lookup, Python: c.String(flagPython)}), nil
}

// manifestDirs lists the operator's folders: --providers, the variable, and the
// system's when it is there.
func (s *session) manifestDirs(c *cli.Context) []string {
	dirs := append([]string(nil), c.StringSlice(flagProviders)...)
	if list, ok := s.lookup("PROVIDER_MEASURE_PROVIDERS"); ok {
		for _, dir := range filepath.SplitList(list) {
			if dir != "" {
				dirs = append(dirs, dir)
			}
		}
	}
	if _, err := os.Lstat(s.etc); !errors.Is(err, os.ErrNotExist) {
		dirs = append(dirs, s.etc)
	}
	return dirs
}

// findProvider finds the manifest of a provider, or of the provider behind a
// capability.
func findProvider(set *provider.Set, name string) (*provider.Manifest, error) {
	if m, ok := set.Provider(name); ok {
		return m, nil
	}
	if m, _, ok := set.Capability(name); ok {
		return m, nil
	}
	known := append(set.ProviderIDs(), set.CapabilityIDs()...)
	return nil, unknownName(codeUnknownProvider, "provider", name, known)
}

func unknownName(code Code, what, name string, known []string) error {
	e := &commandError{Code: code, Message: fmt.Sprintf("no %s is called %q", what, name), exit: exitUsage}
	if near := nearest.Of(name, known); near != "" {
		e.Hint = fmt.Sprintf("did you mean %q?", near)
	} else if code == codeUnknownCapability || code == codeUnknownProvider {
		e.Hint = "see `" + programName + " doctor` for all of them"
	} else {
		e.Hint = "see " + programName + " --help"
	}
	return e
}
