package measure

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/provider-measure/provider-measure/digest"
	"github.com/provider-measure/provider-measure/provider"
)

// Only wheels are installed: a source distribution would run its own build code,
// with the network allowed, and what would be timed is a compiler. Dependencies
// are left out, for the provider is one distribution, and bytecode is not
// compiled, so that uv and pip leave the same bytes.

// uvArgv is the command of uv; links into its cache would be measured as nothing
// new and would break when the cache goes.
func uvArgv(uv, python string, in *provider.Install) []string {
	return []string{
		uv, "pip", "install", "--python", python, "--target", "${scratch}/" + targetDir, "--no-deps", "--no-config",
		"--link-mode", "copy", "--only-binary", ":all:", in.Package + "==" + in.Version,
	}
}

// pipArgv is the command of pip. Retries are said here, for without one pip tells
// nothing of a refused connection.
func pipArgv(python string, in *provider.Install) []string {
	return []string{
		python, "-I", "-m", "pip", "install", "--target", "${scratch}/" + targetDir, "--no-deps", "--no-cache-dir", "--no-input",
		"--disable-pip-version-check", "--no-compile", "--retries", "3", "--only-binary", ":all:", in.Package + "==" + in.Version,
	}
}

// pythonInstallers prefers uv, beside the interpreter or on PATH, to pip.
func (m *measurement) pythonInstallers(ctx context.Context, in *provider.Install) ([]installer, []string) {
	python, err := m.host.Python(ctx)
	if err != nil {
		return nil, []string{messageOf(err)}
	}
	var found []installer
	var missing []string
	check := func(ctx context.Context, target string) string { return wrongDistribution(ctx, target, in) }
	admit := admittedNames(in.Method, in.Env)
	if uv := m.findProgram(filepath.Dir(python.Executable), "uv"); uv != "" {
		found = append(found, installer{
			name: "uv", ask: []string{uv, "--version"}, version: secondWord, argv: uvArgv(uv, python.Executable, in),
			set: map[string]string{
				"UV_CACHE_DIR": "${scratch}/cache", "UV_NO_PROGRESS": "1", "UV_PYTHON_DOWNLOADS": "never",
				"XDG_CONFIG_HOME": "${scratch}/config", "XDG_CONFIG_DIRS": "${scratch}/config", "XDG_DATA_HOME": "${scratch}/data",
			},
			admit: admit, target: targetDir, check: check,
		})
	} else {
		missing = append(missing, "uv is neither beside "+python.Executable+" nor on PATH")
	}
	return append(found, installer{
		name: "pip", ask: []string{python.Executable, "-I", "-m", "pip", "--disable-pip-version-check", "--version"}, version: secondWord,
		argv: pipArgv(python.Executable, in), set: map[string]string{"PIP_CONFIG_FILE": "/dev/null", "PIP_NO_COLOR": "1"},
		admit: admit, target: targetDir, check: check,
	}), missing
}

// secondWord reads `uv 0.13.9 (…)` and `pip 26.3 from …`.
func secondWord(output []byte) string {
	words := strings.Fields(string(output))
	if len(words) < 2 {
		return ""
	}
	return words[1]
}

// wrongDistribution compares what lies in target with what was asked for.
func wrongDistribution(ctx context.Context, target string, in *provider.Install) string {
	d, err := digest.FindDistribution(ctx, digest.Search{Paths: []string{target}, Prefix: target}, in.Package)
	if err != nil {
		return err.Error()
	}
	if d.Version != in.Version {
		return fmt.Sprintf("%s %s was installed, %s was asked for", d.Name, d.Version, in.Version)
	}
	return ""
}
