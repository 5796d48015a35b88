package measure

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/provider-measure/provider-measure/provider"
)

// npmArgv is the command of npm. No script of a package runs. Dependencies are
// installed too, since npm has no way to leave them out.
func npmArgv(npm string, in *provider.Install) []string {
	return []string{
		npm, "install", "--prefix", "${scratch}/" + targetDir, "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier",
		in.Package + "@" + in.Version,
	}
}

func (m *measurement) npmInstaller(ctx context.Context, in *provider.Install) ([]installer, []string) {
	npm := m.findProgram("", "npm")
	if npm == "" {
		return nil, []string{"npm is not on PATH"}
	}
	node := m.findProgram(filepath.Dir(npm), "node")
	if node == "" {
		return nil, []string{"npm is a script for node, which is neither beside it nor on PATH"}
	}
	return []installer{{
		name: "npm", ask: []string{npm, "--version"}, version: firstWord, argv: npmArgv(npm, in),
		set: map[string]string{
			"npm_config_cache": "${scratch}/cache", "npm_config_userconfig": "${scratch}/npmrc", "npm_config_globalconfig": "${scratch}/npmrc-global",
		},
		path: []string{filepath.Dir(node)}, admit: admittedNames(in.Method, in.Env), target: targetDir,
		check: func(_ context.Context, target string) string { return wrongPackage(target, in) },
	}}, nil
}

func firstWord(output []byte) string {
	words := strings.Fields(string(output))
	if len(words) == 0 {
		return ""
	}
	return words[0]
}

// wrongPackage compares the installed package.json with what was asked for.
func wrongPackage(target string, in *provider.Install) string {
	data, err := os.ReadFile(filepath.Join(target, "node_modules", filepath.FromSlash(in.Package), "package.json"))
	if err != nil {
		return err.Error()
	}
	var manifest struct {
		Version string `json:"version"`
	}
	// Other people's files: npm itself accepts repeated members.
	if err := json.Unmarshal(data, &manifest, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
		return "package.json: " + err.Error()
	}
	if manifest.Version != in.Version {
		return fmt.Sprintf("%s %s was installed, %s was asked for", in.Package, manifest.Version, in.Version)
	}
	return ""
}

// goArgv is the command of go. The toolchain is the host's own; cgo is off, for
// a C compiler is no part of what is measured.
func goArgv(program string, in *provider.Install) []string {
	return []string{program, "install", in.Package + "@" + goVersion(in)}
}

func goVersion(in *provider.Install) string { return "v" + strings.TrimPrefix(in.Version, "v") }

func (m *measurement) goInstaller(ctx context.Context, in *provider.Install) ([]installer, []string) {
	program := m.findProgram("", "go")
	if program == "" {
		return nil, []string{"go is not on PATH"}
	}
	return []installer{{
		name: "go", ask: []string{program, "version"}, version: toolchainVersion, argv: goArgv(program, in),
		set: map[string]string{
			"GOBIN": "${scratch}/" + targetDir, "GOPATH": "${scratch}/gopath", "GOCACHE": "${scratch}/cache", "GOMODCACHE": "${scratch}/mod",
			"GOENV": "off", "GOTOOLCHAIN": "local", "GOFLAGS": "-modcacherw", "CGO_ENABLED": "0",
		},
		path: []string{filepath.Dir(program)}, admit: admittedNames(in.Method, in.Env), target: targetDir,
		check: func(_ context.Context, target string) string { return wrongBinary(target, in) },
	}}, nil
}

// toolchainVersion reads `go version go1.26.8 linux/amd64`.
func toolchainVersion(output []byte) string {
	words := strings.Fields(string(output))
	if len(words) < 3 || words[0] != "go" || words[1] != "version" {
		return ""
	}
	return strings.TrimPrefix(words[2], "go")
}

// wrongBinary compares the version that the linker wrote into the program with
// what was asked for.
func wrongBinary(target string, in *provider.Install) string {
	entries, err := os.ReadDir(target)
	if err != nil {
		return err.Error()
	}
	if len(entries) != 1 {
		return fmt.Sprintf("%d programs were installed, 1 was asked for", len(entries))
	}
	info, err := buildinfo.ReadFile(filepath.Join(target, entries[0].Name()))
	if err != nil {
		return err.Error()
	}
	if info.Main.Version != goVersion(in) {
		return fmt.Sprintf("%s %s was installed, %s was asked for", info.Main.Path, info.Main.Version, goVersion(in))
	}
	return ""
}

// installArgv lists the commands of a method as a contract has them, with the
// program's name in place of where this host has it.
func installArgv(in *provider.Install) [][]string {
	switch in.Method {
	case provider.InstallPython:
		return [][]string{uvArgv("uv", pythonVar, in), pipArgv(pythonVar, in)}
	case provider.InstallNPM:
		return [][]string{npmArgv("npm", in)}
	case provider.InstallGo:
		return [][]string{goArgv("go", in)}
	case provider.InstallCommand:
		return [][]string{in.Argv}
	}
	return [][]string{}
}
