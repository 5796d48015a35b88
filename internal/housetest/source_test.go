package housetest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/provider-measure/provider-measure/internal/testenv"
)

const module = "github.com/provider-measure/provider-measure"

// source is one Go file of this module.
type source struct {
	Path string // from the repository's root, with slashes
	Text []byte
	AST  *ast.File
	fset *token.FileSet
}

// Package is the path of the file's package within the module.
func (s source) Package() string { return path.Dir(s.Path) }

// Test says whether go builds the file for tests only.
func (s source) Test() bool { return strings.HasSuffix(s.Path, "_test.go") }

// at is a place for messages.
func (s source) at(n ast.Node) string {
	return fmt.Sprintf("%s:%d", s.Path, s.fset.Position(n.Pos()).Line)
}

// imports maps the name that each import has in the file to its path. An import
// without a name of its own has the last part of its path that is no version.
func (s source) imports() map[string]string {
	out := map[string]string{}
	for _, spec := range s.AST.Imports {
		name := path.Base(importPath(spec))
		if len(name) > 1 && name[0] == 'v' && strings.Trim(name[1:], "0123456789") == "" {
			name = path.Base(path.Dir(importPath(spec)))
		}
		if spec.Name != nil {
			name = spec.Name.Name
		}
		out[name] = importPath(spec)
	}
	return out
}

func importPath(spec *ast.ImportSpec) string {
	p, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		return spec.Path.Value
	}
	return p
}

// selected gives each `package.Name` of the file as the package's path and the
// name, in order.
func (s source) selected(yield func(node ast.Node, pkg, name string)) {
	imports := s.imports()
	ast.Inspect(s.AST, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok && imports[x.Name] != "" {
				yield(sel, imports[x.Name], sel.Sel.Name)
			}
		}
		return true
	})
}

// parseSource reads one file; examples of wrong code come this way too.
func parseSource(t testing.TB, name, text string) source {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return source{Path: name, Text: []byte(text), AST: file, fset: fset}
}

// goSources are all Go files of this module.
func goSources(t testing.TB) []source {
	t.Helper()
	var out []source
	walk(t, func(name string, text []byte) {
		if path.Ext(name) == ".go" && !strings.Contains("/"+name, "/testdata/") {
			out = append(out, parseSource(t, name, string(text)))
		}
	})
	if len(out) < 50 {
		t.Fatalf("found %d Go files, so the tests here would look at nothing", len(out))
	}
	return out
}

// walk gives every text file that belongs to the repository, with its path from
// the root. What git ignores is left out by name, as .gitignore has it, and so is
// the module in testdata, which was handed over as it is.
func walk(t testing.TB, visit func(name string, text []byte)) {
	t.Helper()
	root := testenv.RepoRoot(t)
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if d.IsDir() {
			if notOurs(name) {
				return fs.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() || strings.HasSuffix(name, ".test") || strings.HasSuffix(name, ".prof") {
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if bytes.IndexByte(text, 0) < 0 {
			visit(name, text)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func notOurs(dir string) bool {
	switch dir {
	case ".git", ".providers", ".tools", "bin", "dist", "testdata":
		return true
	}
	return path.Base(dir) == "__pycache__"
}

// document reads a file of docs/.
func document(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(testenv.RepoRoot(t), "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// rule looks at one file and says what is wrong with it.
type rule func(source) []string

// holds applies a rule to every file of the repository.
func holds(t *testing.T, r rule) {
	t.Helper()
	for _, s := range goSources(t) {
		for _, wrong := range r(s) {
			t.Error(wrong)
		}
	}
}

// example is a file, and how many faults a rule must find in it.
type example struct {
	name, path, text string
	faults           int
}

// bites tries a rule on examples, most of them wrong.
func bites(t *testing.T, r rule, examples []example) {
	t.Helper()
	for _, e := range examples {
		t.Run(e.name, func(t *testing.T) {
			got := r(parseSource(t, e.path, e.text))
			if len(got) != e.faults {
				t.Errorf("%d faults, want %d: %q", len(got), e.faults, got)
			}
		})
	}
}
