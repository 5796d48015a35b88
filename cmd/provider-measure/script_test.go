package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/provider-measure/provider-measure/internal/testenv"
	"github.com/provider-measure/provider-measure/probe"
)

// TestScripts runs testdata/script, one short script for each behaviour of the
// command. A script starts with:
//
//   - PATH: the command, python3 and shells, as far as the host has them
//   - HOME and TMPDIR: folders of its own
//   - DIST, TREE, VECTORS, PROVIDERS, SCHEMAS: the data that it may copy
//
// Beside the commands of testscript there are those of scriptCommands, and the
// conditions of scriptCondition.
func TestScripts(t *testing.T) {
	host := newScriptHost(t)
	// A command that waits for ever is killed, and says where it was.
	deadline := time.Now().Add(5 * time.Minute)
	if own, ok := t.Deadline(); ok && own.Before(deadline) {
		deadline = own
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		Setup:               host.setup,
		Cmds:                host.commands(),
		Condition:           host.condition,
		UpdateScripts:       update(),
		Deadline:            deadline,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

// scriptHost is what scripts see of the host.
type scriptHost struct {
	root   string // of the repository
	bin    string // links to the few programs that scripts may start
	python *hostPython
}

func newScriptHost(t *testing.T) *scriptHost {
	t.Helper()
	h := &scriptHost{root: testenv.RepoRoot(t), bin: t.TempDir(), python: findHostPython(t)}
	for _, name := range []string{"sh", "bash", "zsh", "fish"} {
		if path, err := exec.LookPath(name); err == nil {
			link(t, path, filepath.Join(h.bin, name))
		}
	}
	if h.python != nil {
		link(t, h.python.Executable, filepath.Join(h.bin, "python3"))
	}
	return h
}

func link(t testing.TB, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}

func (h *scriptHost) setup(env *testscript.Env) error {
	command, err := exec.LookPath(programName)
	if err != nil {
		return err
	}
	for _, dir := range []string{"home", "tmp"} {
		if err := os.Mkdir(filepath.Join(env.WorkDir, dir), 0o755); err != nil {
			return err
		}
	}
	inputs := filepath.Join(h.root, "testdata", "inputs")
	env.Vars = []string{
		"WORK=" + env.WorkDir,
		"HOME=" + filepath.Join(env.WorkDir, "home"),
		"TMPDIR=" + filepath.Join(env.WorkDir, "tmp"),
		"PATH=" + filepath.Dir(command) + string(filepath.ListSeparator) + h.bin,
		"DIST=" + filepath.Join(inputs, "dist"),
		"TREE=" + filepath.Join(inputs, "tree"),
		"VECTORS=" + filepath.Join(h.root, "testdata", "vectors"),
		"PROVIDERS=" + filepath.Join(h.root, "cmd", programName, "testdata", "providers"),
		"SCHEMAS=" + filepath.Join(h.root, "docs", "schemas"),
		raceOptions,
		"/=" + string(os.PathSeparator), ":=" + string(os.PathListSeparator), "$=$",
	}
	return nil
}

// condition knows python (the host has one), root (the user is), tracer (the engine
// here), and the name of
// each shell that the host has.
func (h *scriptHost) condition(name string) (bool, error) {
	switch name {
	case "python":
		return h.python != nil, nil
	case "tracer":
		return probe.HostCapabilities(context.Background()).Engine == probe.EngineTracer, nil
	case "root":
		return os.Geteuid() == 0, nil
	case "sh", "bash", "zsh", "fish":
		_, err := os.Lstat(filepath.Join(h.bin, name))
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		return err == nil, err
	}
	return false, fmt.Errorf("no condition is called %q", name)
}

// hostPython is the interpreter that the tests make environments from.
type hostPython struct {
	Executable string // its own file, no launcher and no environment's link
	Home       string // folder that pyvenv.cfg names
	Version    string // 3.11.7
}

func (p *hostPython) minor() string {
	parts := strings.Split(p.Version, ".")
	return parts[0] + "." + parts[1]
}

// findHostPython returns nil on a host without Python 3.
func findHostPython(t testing.TB) *hostPython {
	t.Helper()
	path, err := exec.LookPath("python3")
	if err != nil {
		return nil
	}
	out, err := exec.CommandContext(t.Context(), path, "-I", "-S", "-c", `
import os, sys
base = getattr(sys, "_base_executable", "") or sys.executable
print(os.path.realpath(base), os.path.dirname(base), "%d.%d.%d" % sys.version_info[:3], sep="\n")`).Output()
	if err != nil {
		t.Logf("%s does not answer: %v", path, err)
		return nil
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != 3 {
		t.Fatalf("%s answers %q", path, out)
	}
	return &hostPython{Executable: lines[0], Home: lines[1], Version: lines[2]}
}

// makeEnvironment makes dir a virtual environment without pip whose
// site-packages hold copies of the folders in cases.
func (p *hostPython) makeEnvironment(t testing.TB, dir string, cases ...string) (site string) {
	t.Helper()
	site = filepath.Join(dir, "lib", "python"+p.minor(), "site-packages")
	for _, d := range []string{site, filepath.Join(dir, "bin")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	config := fmt.Sprintf("home = %s\ninclude-system-site-packages = false\nversion = %s\n", p.Home, p.Version)
	if err := os.WriteFile(filepath.Join(dir, "pyvenv.cfg"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	link(t, p.Executable, filepath.Join(dir, "bin", "python3"))
	for _, from := range cases {
		testenv.CopyTreeTo(t, from, site)
	}
	return site
}
