package housetest

import (
	"fmt"
	"go/ast"
	"go/token"
	"strings"
	"testing"
)

// nothingGlobal is the rule that packages have no init and no variables, but for
// embedded files and `var _` assertions, which hold nothing. There is no list of
// exceptions: an error that never changes is a constant of a string type.
func nothingGlobal(s source) []string {
	if s.Test() {
		return nil
	}
	var wrong []string
	for _, decl := range s.AST.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil && d.Name.Name == "init" {
				wrong = append(wrong, fmt.Sprintf("%s: init function", s.at(d)))
			}
		case *ast.GenDecl:
			if d.Tok == token.VAR {
				wrong = append(wrong, packageVars(s, d)...)
			}
		}
	}
	return wrong
}

func packageVars(s source, d *ast.GenDecl) []string {
	var wrong []string
	for _, spec := range d.Specs {
		v := spec.(*ast.ValueSpec)
		if embeds(d.Doc) || embeds(v.Doc) {
			continue
		}
		for _, name := range v.Names {
			if name.Name != "_" {
				wrong = append(wrong, fmt.Sprintf("%s: package variable %s", s.at(name), name.Name))
			}
		}
	}
	return wrong
}

func embeds(doc *ast.CommentGroup) bool {
	if doc == nil {
		return false
	}
	for _, c := range doc.List {
		if strings.HasPrefix(c.Text, "//go:embed ") {
			return true
		}
	}
	return false
}

func TestNothingGlobal(t *testing.T) { holds(t, nothingGlobal) }

func TestNothingGlobalBites(t *testing.T) {
	bites(t, nothingGlobal, []example{
		{"init", "digest/a.go", "package p\nfunc init() {}\n", 1},
		{"a method init", "digest/a.go", "package p\ntype t int\nfunc (t) init() {}\n", 0},
		{"error", "digest/a.go", "package p\nimport \"errors\"\nvar errX = errors.New(\"x\")\n", 1},
		{"group", "digest/a.go", "package p\nvar (\na, b int\n_ = 1\n)\n", 2},
		{"assertion", "digest/a.go", "package p\nvar _ error = nil\n", 0},
		{"embed", "digest/a.go", "package p\nimport _ \"embed\"\n\n//go:embed a.go\nvar text string\n", 0},
		{"embed in a group", "digest/a.go", "package p\nimport _ \"embed\"\nvar (\n//go:embed a.go\ntext string\nother int\n)\n", 1},
		{"inside a function", "digest/a.go", "package p\nfunc f() { var x int; _ = x }\n", 0},
		{"in a test", "digest/a_test.go", "package p\nvar x int\n", 0},
	})
}

// librariesAreQuiet is the rule that only the command reads the process's own
// arguments, environment and streams; everything else is given them. os.LookupEnv
// is in the list, since the environment comes in as a function.
func librariesAreQuiet(s source) []string {
	if s.Test() || strings.HasPrefix(s.Package(), "cmd/") {
		return nil
	}
	private := map[string]bool{
		"os.Args": true, "os.Environ": true, "os.Getenv": true, "os.LookupEnv": true, "os.ExpandEnv": true, "os.Exit": true,
		"os.Stdin": true, "os.Stdout": true, "os.Stderr": true, "fmt.Print": true, "fmt.Printf": true, "fmt.Println": true,
	}
	var wrong []string
	s.selected(func(n ast.Node, pkg, name string) {
		if private[pkg+"."+name] || pkg == "log" || pkg == "log/slog" || pkg == "flag" {
			wrong = append(wrong, fmt.Sprintf("%s: %s.%s belongs to the command", s.at(n), pkg, name))
		}
	})
	return wrong
}

func TestLibrariesAreQuiet(t *testing.T) { holds(t, librariesAreQuiet) }

func TestLibrariesAreQuietBites(t *testing.T) {
	bites(t, librariesAreQuiet, []example{
		{"prints", "measure/a.go", "package p\nimport \"fmt\"\nfunc f() { fmt.Println() }\n", 1},
		{"logs", "measure/a.go", "package p\nimport \"log\"\nfunc f() { log.Print() }\n", 1},
		{"reads the environment", "probe/a.go", "package p\nimport \"os\"\nvar _ = os.Environ\nvar _ = os.LookupEnv\n", 2},
		{"writes to a writer", "measure/a.go", "package p\nimport (\"fmt\"; \"io\")\nfunc f(w io.Writer) { fmt.Fprintln(w) }\n", 0},
		{"the command", "cmd/provider-measure/a.go", "package p\nimport \"os\"\nvar _ = os.Args\n", 0},
	})
}
