package housetest

import (
	"fmt"
	"go/ast"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/provider-measure/provider-measure/internal/testenv"
)

// fuzzTargets are the fuzz targets of a file, each with whether it adds seeds:
// with f.Add, or by giving f to a function of its own that does.
func fuzzTargets(s source) map[string]bool {
	out := map[string]bool{}
	for _, decl := range s.AST.Decls {
		d, ok := decl.(*ast.FuncDecl)
		if !ok || d.Recv != nil || !strings.HasPrefix(d.Name.Name, "Fuzz") || len(d.Type.Params.List) != 1 ||
			len(d.Type.Params.List[0].Names) != 1 || d.Body == nil {
			continue
		}
		out[d.Name.Name] = addsSeeds(d.Body, d.Type.Params.List[0].Names[0].Name)
	}
	return out
}

func addsSeeds(body *ast.BlockStmt, f string) bool {
	found := false
	ast.Inspect(body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		sel, isSel := call.Fun.(*ast.SelectorExpr)
		if isSel && isName(sel.X, f) {
			found = found || sel.Sel.Name == "Add"
			return true
		}
		for _, arg := range call.Args {
			found = found || isName(arg, f) && !isSel
		}
		return true
	})
	return found
}

func isName(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}

func TestFuzzTargetsBite(t *testing.T) {
	tests := []struct {
		name, body string
		want       bool
	}{
		{"none", "f.Fuzz(func(t *testing.T, b []byte) {})", false},
		{"added", "f.Add([]byte{})", true},
		{"by a helper", "seeds(f)", true},
		{"of something else", "x.Add(1); testenv.RepoRoot(f)", false},
	}
	for _, tt := range tests {
		s := parseSource(t, "p/a_test.go", "package p\nfunc FuzzX(f *testing.F) {"+tt.body+"}\n")
		if got := fuzzTargets(s); len(got) != 1 || got["FuzzX"] != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

// A target without seeds explores nothing that the parser accepts, and a corpus
// whose target was renamed is never read: both look fine from outside.
func TestEveryFuzzTargetHasSeeds(t *testing.T) {
	root := testenv.RepoRoot(t)
	targets := map[string]bool{}
	for _, s := range goSources(t) {
		if !s.Test() {
			continue
		}
		for name, adds := range fuzzTargets(s) {
			corpus := path.Join(s.Package(), "testdata", "fuzz", name)
			targets[corpus] = true
			kept, err := os.ReadDir(filepath.Join(root, filepath.FromSlash(corpus)))
			if err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			if !adds && len(kept) == 0 {
				t.Errorf("%s: %s has neither f.Add nor files in %s", s.Path, name, corpus)
			}
		}
	}
	if len(targets) < 5 {
		t.Errorf("found %d fuzz targets, so the test looks at nothing", len(targets))
	}
	walk(t, func(name string, _ []byte) {
		if dir := path.Dir(name); strings.Contains(dir, "testdata/fuzz/") && !targets[dir] {
			t.Errorf("%s is the corpus of a target that does not exist", name)
		}
	})
}

// typedSkips is the rule that a test skips through internal/testenv, so that
// what the host lacked is said in a word that CI can judge.
func typedSkips(s source) []string {
	if s.Package() == testenvPackage {
		return nil
	}
	var wrong []string
	ast.Inspect(s.AST, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		name := sel.Sel.Name
		if name == "Skipf" || name == "SkipNow" || name == "Skip" && !isName(sel.X, "testenv") && !insideFuzz(s, call) {
			wrong = append(wrong, fmt.Sprintf("%s: a skip without a type; use testenv.Skip", s.at(call)))
		}
		return true
	})
	return wrong
}

// insideFuzz says whether the call stands in a fuzz target, where t.Skip means
// that one input is of no interest.
func insideFuzz(s source, call *ast.CallExpr) bool {
	for _, decl := range s.AST.Decls {
		if d, ok := decl.(*ast.FuncDecl); ok && strings.HasPrefix(d.Name.Name, "Fuzz") && d.Pos() <= call.Pos() && call.End() <= d.End() {
			return true
		}
	}
	return false
}

func TestSkipsAreTyped(t *testing.T) {
	holds(t, func(s source) []string {
		if !s.Test() {
			return nil
		}
		return typedSkips(s)
	})
}

func TestSkipsAreTypedBites(t *testing.T) {
	bites(t, typedSkips, []example{
		{"typed", "p/a_test.go", "package p\nfunc TestX(t *testing.T) { testenv.Skip(t, \"root\", \"x\") }\n", 0},
		{"bare", "p/a_test.go", "package p\nfunc TestX(t *testing.T) { t.Skip(\"x\") }\n", 1},
		{"formatted", "p/a_test.go", "package p\nfunc TestX(t *testing.T) { t.Skipf(\"x\") }\n", 1},
		{"now", "p/a_test.go", "package p\nfunc TestX(t *testing.T) { t.SkipNow() }\n", 1},
		{"an input of no interest", "p/a_test.go", "package p\nfunc FuzzX(f *testing.F) { f.Fuzz(func(t *testing.T, b []byte) { t.Skip() }) }\n", 0},
	})
}
