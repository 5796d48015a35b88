package housetest

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// coded is one constant of a type named Code or Reason.
type coded struct{ name, value, pkg, at string }

// codes lists the file's constants of a type named Code or Reason, and what in
// the file would let such a value past the tests here.
func codes(s source) (found []coded, wrong []string) {
	if s.Test() {
		return nil, nil
	}
	declared := map[ast.Node]bool{}
	for _, decl := range s.AST.Decls {
		d, ok := decl.(*ast.GenDecl)
		if !ok || d.Tok != token.CONST {
			continue
		}
		for _, spec := range d.Specs {
			v := spec.(*ast.ValueSpec)
			for i, name := range v.Names {
				value := constantValue(v, i)
				if value == nil {
					continue
				}
				declared[value] = true
				text, ok := stringLiteral(value)
				if !ok {
					wrong = append(wrong, fmt.Sprintf("%s: %s is not written as a string", s.at(name), name.Name))
					continue
				}
				found = append(found, coded{name.Name, text, s.Package(), s.at(name)})
			}
		}
	}
	return found, append(wrong, looseCodes(s, declared)...)
}

// constantValue is the i-th value of a constant declaration when its type is
// Code or Reason, declared or by conversion; nil for any other constant.
func constantValue(v *ast.ValueSpec, i int) ast.Expr {
	if i >= len(v.Values) {
		return nil
	}
	if isCodeType(v.Type) {
		return v.Values[i]
	}
	if call, ok := v.Values[i].(*ast.CallExpr); ok && isCodeType(call.Fun) && len(call.Args) == 1 {
		return call.Args[0]
	}
	return nil
}

func isCodeType(e ast.Expr) bool {
	if sel, ok := e.(*ast.SelectorExpr); ok {
		e = sel.Sel
	}
	id, ok := e.(*ast.Ident)
	return ok && (id.Name == "Code" || id.Name == "Reason")
}

func stringLiteral(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(lit.Value)
	return text, err == nil
}

// looseCodes finds values that become a code without a constant: Code("x"), and
// a field Code or Reason that is set to a bare string in a struct whose fields
// are not plain text.
func looseCodes(s source, declared map[ast.Node]bool) []string {
	var wrong []string
	ast.Inspect(s.AST, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || !isCodeType(call.Fun) || len(call.Args) != 1 || declared[call.Args[0]] {
			return true
		}
		if text, ok := stringLiteral(call.Args[0]); ok && text != "" {
			wrong = append(wrong, fmt.Sprintf("%s: %q becomes a code without being a constant", s.at(call), text))
		}
		return true
	})
	return wrong
}

func TestCodesBite(t *testing.T) {
	tests := []struct {
		name, text   string
		found, wrong int
	}{
		{"typed", "package p\ntype Code string\nconst A Code = \"p.a\"\n", 1, 0},
		{"group", "package p\nconst (\nA Code = \"p.a\"\nB Reason = \"p.b\"\nC = 1\n)\n", 2, 0},
		{"converted", "package p\nconst A = Code(\"p.a\")\n", 1, 0},
		{"of another package", "package p\nconst A probe.Code = \"p.a\"\n", 1, 0},
		{"computed", "package p\nconst A Code = \"p\" + \".a\"\n", 0, 1},
		{"the zero value", "package p\nvar x = Code(\"\")\n", 0, 0},
		{"loose", "package p\nvar x = Code(\"p.a\")\n", 0, 1},
		{"another type", "package p\nconst A Kind = \"p.a\"\n", 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			found, wrong := codes(parseSource(t, "digest/a.go", tt.text))
			if len(found) != tt.found || len(wrong) != tt.wrong {
				t.Errorf("found %v, wrong %q; want %d and %d", found, wrong, tt.found, tt.wrong)
			}
		})
	}
}

// entry is one code of docs/codes.md.
type entry struct{ code, family, meaning, mend string }

// codeEntries reads docs/codes.md: a family is a `## ` heading; an entry is a
// heading "### `CODE`", one paragraph that says what it means, and one line that
// begins with "Mend: ". Nothing else may stand between them.
func codeEntries(text string) ([]entry, error) {
	heading := regexp.MustCompile("^### `([A-Za-z][A-Za-z0-9_.]*)`$")
	var out []entry
	family := ""
	for number, line := range strings.Split(text, "\n") {
		match := heading.FindStringSubmatch(line)
		last := len(out) - 1
		switch {
		case strings.HasPrefix(line, "## "):
			family = line[3:]
		case match != nil:
			out = append(out, entry{code: match[1], family: family})
		case strings.HasPrefix(line, "### "):
			return nil, fmt.Errorf("line %d: heading %q names no code in backquotes", number+1, line)
		case line == "" || family == "" || last < 0 || out[last].family != family:
			// Blank, or the words above the first family or entry.
		case strings.HasPrefix(line, "Mend: "):
			if out[last].mend != "" {
				return nil, fmt.Errorf("line %d: a second Mend line for %s", number+1, out[last].code)
			}
			out[last].mend = line[6:]
		case out[last].mend != "":
			return nil, fmt.Errorf("line %d: text after the Mend line of %s", number+1, out[last].code)
		default:
			out[last].meaning += line + "\n"
		}
	}
	for _, e := range out {
		if e.family == "" || e.meaning == "" || e.mend == "" {
			return nil, fmt.Errorf("%s lacks a family, a meaning or a Mend line", e.code)
		}
	}
	return out, nil
}

func TestCodeEntriesBite(t *testing.T) {
	good := "# Codes\n\nwords\n\n## family\n\nwords\n\n### `p.a`\n\nWhat it\nmeans.\n\nMend: do this.\n"
	if got, err := codeEntries(good); err != nil || len(got) != 1 || got[0].mend != "do this." {
		t.Fatalf("%v, %v", got, err)
	}
	for name, text := range map[string]string{
		"no mend":     "## f\n\n### `p.a`\n\nMeans.\n",
		"no meaning":  "## f\n\n### `p.a`\n\nMend: x\n",
		"no family":   "### `p.a`\n\nMeans.\n\nMend: x\n",
		"two mends":   "## f\n\n### `p.a`\n\nMeans.\n\nMend: x\nMend: y\n",
		"text after":  "## f\n\n### `p.a`\n\nMeans.\n\nMend: x\n\nmore\n",
		"bare":        "## f\n\n### p.a\n\nMeans.\n\nMend: x\n",
		"not closed":  "## f\n\n### `p.a\n\nMeans.\n\nMend: x\n",
		"empty entry": "## f\n\n### `p.a`\n\n### `p.b`\n\nMeans.\n\nMend: x\n",
	} {
		if got, err := codeEntries(text); err == nil {
			t.Errorf("%s: accepted as %v", name, got)
		}
	}
}

func TestEveryCodeIsDocumented(t *testing.T) {
	entries, err := codeEntries(document(t, "codes.md"))
	if err != nil {
		t.Fatalf("docs/codes.md: %v", err)
	}
	documented := map[string]bool{}
	for _, e := range entries {
		if documented[e.code] {
			t.Errorf("docs/codes.md has %s twice", e.code)
		}
		documented[e.code] = true
	}
	used := map[string]string{}
	for _, s := range goSources(t) {
		found, wrong := codes(s)
		for _, w := range wrong {
			t.Error(w)
		}
		for _, c := range found {
			if other := used[c.value]; other != "" {
				t.Errorf("%s: %s is the code at %s too", c.at, c.value, other)
			}
			used[c.value] = c.at
			if !documented[c.value] {
				t.Errorf("%s: %s has no entry in docs/codes.md", c.at, c.value)
			}
		}
	}
	for code := range documented {
		if used[code] == "" {
			t.Errorf("docs/codes.md explains %s, which no constant has", code)
		}
	}
	if len(used) < 50 {
		t.Errorf("found %d codes, so the test looks at nothing", len(used))
	}
}

// mentions counts, for "package.name", the places where the module's code (not
// its tests) has that name, declarations among them.
func mentions(sources []source) map[string]int {
	out := map[string]int{}
	for _, s := range sources {
		if s.Test() {
			continue
		}
		ast.Inspect(s.AST, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				out[s.Package()+"."+id.Name]++
			}
			return true
		})
		s.selected(func(_ ast.Node, pkg, name string) {
			if ours, ok := strings.CutPrefix(pkg, module+"/"); ok && ours != s.Package() {
				out[ours+"."+name]++
			}
		})
	}
	return out
}

// A code that nothing returns is a promise in the documents that the program
// does not keep.
func TestEveryCodeIsUsed(t *testing.T) {
	sources := goSources(t)
	count := mentions(sources)
	for _, s := range sources {
		found, _ := codes(s)
		for _, c := range found {
			if count[c.pkg+"."+c.name] < 2 {
				t.Errorf("%s: %s (%s) is declared and never used", c.at, c.name, c.value)
			}
		}
	}
}

func TestMentionsBite(t *testing.T) {
	sources := []source{
		parseSource(t, "digest/a.go", "package digest\nconst A Code = \"d.a\"\nconst B Code = \"d.b\"\nconst C Code = \"d.c\"\nvar _ = B\n"),
		parseSource(t, "digest/a_test.go", "package digest\nvar _ = C\n"),
		parseSource(t, "provider/a.go", "package provider\nimport \""+module+"/digest\"\nvar _ = digest.A\n"),
	}
	count := mentions(sources)
	for name, want := range map[string]int{"digest.A": 2, "digest.B": 2, "digest.C": 1} {
		if count[name] != want {
			t.Errorf("%s: %d mentions, want %d", name, count[name], want)
		}
	}
}
