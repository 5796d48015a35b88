package provider

import (
	"fmt"
	"strings"

	"github.com/provider-measure/provider-measure/probe"
)

// The interpolations of a manifest. ${scratch} is left to the probe, which makes
// the folder.
const (
	varPython      = "${python}"
	varManifestDir = "${manifest_dir}"
	varExecutable  = "${executable}"
	varScratch     = probe.ScratchVar
)

// checkInterpolations refuses a ${…} that is not one of the four.
func checkInterpolations(s string) error {
	for rest := s; ; {
		i := strings.Index(rest, "${")
		if i < 0 {
			return nil
		}
		end := strings.IndexByte(rest[i:], '}')
		if end < 0 {
			return fmt.Errorf("%q opens ${ and does not close it", s)
		}
		switch name := rest[i : i+end+1]; name {
		case varPython, varManifestDir, varExecutable, varScratch:
		default:
			return fmt.Errorf("%s is not an interpolation; there are %s, %s, %s and %s", name, varPython, varManifestDir, varExecutable, varScratch)
		}
		rest = rest[i+end+1:]
	}
}

// interpolation replaces what a manifest may name by what this host has.
type interpolation struct{ python, manifestDir, executable string }

// apply replaces in one pass, so that a folder whose own name looks like an
// interpolation stays what it is.
func (in interpolation) apply(s string) (string, error) {
	var pairs []string
	for _, v := range []struct{ name, value, what string }{
		{varPython, in.python, "a Python interpreter"},
		{varManifestDir, in.manifestDir, "the manifest's folder"},
		{varExecutable, in.executable, "the provider's executable"},
	} {
		if !strings.Contains(s, v.name) {
			continue
		}
		if v.value == "" {
			return "", fmt.Errorf("%s needs %s, and there is none", v.name, v.what)
		}
		if strings.Contains(v.value, varScratch) {
			return "", fmt.Errorf("%s is %q, which would be taken for %s", v.name, v.value, varScratch)
		}
		pairs = append(pairs, v.name, v.value)
	}
	return strings.NewReplacer(pairs...).Replace(s), nil
}

func (in interpolation) applyAll(list []string) ([]string, error) {
	out := make([]string, len(list))
	for i, s := range list {
		var err error
		if out[i], err = in.apply(s); err != nil {
			return nil, err
		}
	}
	return out, nil
}
