package housetest

import (
	"fmt"
	"go/ast"
	"strings"
	"testing"
)

// starters are the names, in the packages of starterPackages, that begin a
// process or become another one. SYS_ names are the raw system calls.
func starters() map[string]bool {
	out := map[string]bool{}
	for _, name := range []string{
		"ForkExec", "StartProcess", "Exec", "Execve", "Fork", "Vfork", "ForkExecPipe",
		"SYS_FORK", "SYS_VFORK", "SYS_CLONE", "SYS_CLONE3", "SYS_EXECVE", "SYS_EXECVEAT", "SYS_POSIX_SPAWN",
	} {
		out[name] = true
	}
	return out
}

// onlyProbeStarts is the rule that package probe alone starts processes. Outside
// it, code also may not reach for what the compiler does not check: another
// package's private functions, C, or plugins.
func onlyProbeStarts(s source) []string {
	if s.Test() || s.Package() == "probe" {
		return nil
	}
	var wrong []string
	for _, spec := range s.AST.Imports {
		p := importPath(spec)
		switch {
		case p == "os/exec", p == "plugin", p == "C":
			wrong = append(wrong, fmt.Sprintf("%s: imports %s; only package probe starts processes", s.at(spec), p))
		case spec.Name != nil && spec.Name.Name == "." && starterPackage(p):
			wrong = append(wrong, fmt.Sprintf("%s: imports %s with a dot, which hides what it calls", s.at(spec), p))
		}
	}
	for _, group := range s.AST.Comments {
		for _, c := range group.List {
			if strings.HasPrefix(c.Text, "//go:linkname") {
				wrong = append(wrong, fmt.Sprintf("%s: go:linkname", s.at(c)))
			}
		}
	}
	names := starters()
	s.selected(func(n ast.Node, pkg, name string) {
		if starterPackage(pkg) && names[name] {
			wrong = append(wrong, fmt.Sprintf("%s: %s.%s; only package probe starts processes", s.at(n), pkg, name))
		}
	})
	return wrong
}

func starterPackage(p string) bool {
	return p == "os" || p == "syscall" || p == "golang.org/x/sys/unix"
}

func TestOnlyProbeStartsProcesses(t *testing.T) {
	holds(t, onlyProbeStarts)
	// The rule would also hold in a project whose probe had gone elsewhere.
	for _, s := range goSources(t) {
		if s.Package() == "probe" && !s.Test() {
			moved := s
			moved.Path = "measure/" + s.Path
			if len(onlyProbeStarts(moved)) > 0 {
				return
			}
		}
	}
	t.Error("package probe starts no process that the rule would see")
}

func TestOnlyProbeStartsProcessesBites(t *testing.T) {
	bites(t, onlyProbeStarts, []example{
		{"os/exec", "measure/a.go", "package p\nimport _ \"os/exec\"\n", 1},
		{"os/exec on another platform", "measure/a_darwin.go", "//go:build darwin\n\npackage p\nimport x \"os/exec\"\n", 1},
		{"in probe", "probe/a.go", "package p\nimport \"os/exec\"\n", 0},
		{"below probe", "probe/x/a.go", "package p\nimport \"os/exec\"\n", 1},
		{"in a test", "measure/a_test.go", "package p\nimport \"os/exec\"\n", 0},
		{"os", "digest/a.go", "package p\nimport \"os\"\nvar _ = os.StartProcess\n", 1},
		{"syscall renamed", "digest/a.go", "package p\nimport s \"syscall\"\nfunc f() { s.ForkExec(\"\", nil, nil) }\n", 1},
		{"raw", "digest/a.go", "package p\nimport \"golang.org/x/sys/unix\"\nconst n = unix.SYS_CLONE3\n", 1},
		{"dot", "digest/a.go", "package p\nimport . \"syscall\"\n", 1},
		{"cgo", "digest/a.go", "package p\nimport \"C\"\n", 1},
		{"linkname", "digest/a.go", "package p\nimport _ \"unsafe\"\n//go:linkname f syscall.forkExec\nfunc f()\n", 1},
		{"a method of that name", "digest/a.go", "package p\nimport \"os\"\nvar _ = os.Open\nfunc f(x struct{ Exec int }) int { return x.Exec }\n", 0},
	})
}
