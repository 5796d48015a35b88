package provider

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every code and reason of the package is made somewhere and asserted by a test.
func TestEveryReasonIsReachedAndTested(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var tests strings.Builder
	uses := map[string]int{}
	names := map[string]string{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(file, "_test.go") {
			tests.Write(data)
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, data, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				uses[id.Name]++
			}
			v, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			if typ, ok := v.Type.(*ast.Ident); ok && (typ.Name == "Code" || typ.Name == "Reason") {
				names[v.Names[0].Name] = file
			}
			return true
		})
	}
	if len(names) < 30 {
		t.Fatalf("found %d constants", len(names))
	}
	for name, file := range names {
		word := regexp.MustCompile(`\b` + name + `\b`)
		if uses[name] < 2 { // the first is its declaration
			t.Errorf("%s of %s is never made", name, file)
		}
		if !word.MatchString(tests.String()) {
			t.Errorf("%s of %s is asserted by no test", name, file)
		}
	}
}
