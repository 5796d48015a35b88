package housetest

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// mayImport is the package graph of docs/ARCHITECTURE.md: for each package, the
// public packages of this module that its code may import. Packages below
// internal/ may be imported by all of them.
func mayImport() map[string][]string {
	return map[string][]string{
		"digest":           nil,
		"probe":            nil,
		"judge":            nil,
		"docs":             nil,
		"provider/builtin": nil,
		"provider":         {"digest", "probe", "judge", "provider/builtin"},
		"catalog":          {"provider", "digest", "probe", "judge"},
		"measure":          {"provider", "digest", "probe", "judge"},
		"cmd/provider-measure": {
			"catalog", "measure", "provider", "digest", "probe", "judge", "docs", "provider/builtin",
		},
	}
}

const testenvPackage = "internal/testenv"

// importGraph is the rule that imports go down only.
func importGraph(s source) []string {
	pkg := s.Package()
	allowed, known := mayImport()[pkg]
	if !known && !strings.HasPrefix(pkg, "internal/") {
		return []string{fmt.Sprintf("%s: package %s is not in the graph: add it here and to docs/ARCHITECTURE.md", s.Path, pkg)}
	}
	var wrong []string
	for _, spec := range s.AST.Imports {
		p := importPath(spec)
		if p == "github.com/urfave/cli" || strings.HasPrefix(p, "github.com/urfave/cli/") {
			if pkg != "cmd/provider-measure" {
				wrong = append(wrong, fmt.Sprintf("%s: only the command knows %s", s.at(spec), p))
			}
			continue
		}
		ours, ok := strings.CutPrefix(p, module+"/")
		if !ok {
			continue
		}
		if !importAllowed(s, ours, allowed) {
			wrong = append(wrong, fmt.Sprintf("%s: %s must not import %s", s.at(spec), pkg, ours))
		}
	}
	return wrong
}

func importAllowed(s source, imported string, allowed []string) bool {
	switch {
	case imported == testenvPackage:
		return s.Test()
	case imported == s.Package():
		return s.Test() // an external test of the package itself
	case strings.HasPrefix(imported, "internal/"):
		return imported != "internal/housetest"
	case path.Dir(imported) == s.Package():
		return s.Test() || slices.Contains(allowed, imported)
	}
	return slices.Contains(allowed, imported)
}

func TestImportGraph(t *testing.T) {
	holds(t, importGraph)
	// Every package that the graph names is there, or the graph is of another project.
	found := map[string]bool{}
	for _, s := range goSources(t) {
		found[s.Package()] = true
	}
	for pkg := range mayImport() {
		if !found[pkg] {
			t.Errorf("the graph names package %s, which does not exist", pkg)
		}
	}
}

func TestImportGraphBites(t *testing.T) {
	in := func(path string) string { return "package p\nimport \"" + module + "/" + path + "\"\n" }
	bites(t, importGraph, []example{
		{"down", "provider/a.go", in("digest"), 0},
		{"plumbing", "digest/a.go", in("internal/canonjson"), 0},
		{"sideways", "digest/a.go", in("probe"), 1},
		{"up", "probe/a.go", in("provider"), 1},
		{"a leaf imports", "judge/a.go", in("digest"), 1},
		{"measure and catalog", "measure/a.go", in("catalog"), 1},
		{"internal imports public", "internal/canonjson/a.go", in("digest"), 1},
		{"internal imports internal", "internal/canonjson/a.go", in("internal/strictjson"), 0},
		{"test help in code", "digest/a.go", in("internal/testenv"), 1},
		{"test help in a test", "digest/a_test.go", in("internal/testenv"), 0},
		{"a test goes up", "digest/a_test.go", in("provider"), 1},
		{"a test of itself", "digest/a_test.go", in("digest"), 0},
		{"cli in a library", "measure/a.go", "package p\nimport \"github.com/urfave/cli/v2\"\n", 1},
		{"cli in the command", "cmd/provider-measure/a.go", "package p\nimport \"github.com/urfave/cli/v2\"\n", 0},
		{"renamed", "probe/a.go", "package p\nimport x \"" + module + "/digest\"\n", 1},
		{"unknown package", "helper/a.go", "package p\n", 1},
	})
}

// A package that the architecture does not mention was not thought about.
func TestArchitectureNamesEveryPackage(t *testing.T) {
	text := document(t, "ARCHITECTURE.md")
	seen := map[string]bool{}
	for _, s := range goSources(t) {
		pkg := s.Package()
		if seen[pkg] {
			continue
		}
		seen[pkg] = true
		if !strings.Contains(text, "`"+pkg+"`") && !regexp.MustCompile(`(?m)^[ |+-]*`+regexp.QuoteMeta(pkg)+` `).MatchString(text) {
			t.Errorf("docs/ARCHITECTURE.md does not name package %s", pkg)
		}
	}
}
