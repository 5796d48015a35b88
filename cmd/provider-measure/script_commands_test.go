package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/provider-measure/provider-measure/internal/testenv"
)

type scriptCommand = func(ts *testscript.TestScript, neg bool, args []string)

// commands are those that scripts have beside testscript's own.
func (h *scriptHost) commands() map[string]scriptCommand {
	return map[string]scriptCommand{
		"exits":     exits,
		"json":      jsonValue,
		"onejson":   oneJSON,
		"normalise": normalise,
		"mkenv":     h.makeEnv,
		"cptree":    copyTree,
		"provider":  h.copyProvider,
		"replace":   replace,
		"relink":    relink,
		"fifo":      fifo,
		"empty":     emptyFolder,
		"folder":    quotedFolder,
	}
}

// scriptTB gives a script's command the testing.TB that helpers want.
type scriptTB struct {
	testing.TB // nil: what is not below must not be used
	ts         *testscript.TestScript
}

func (s scriptTB) Helper()                   {}
func (s scriptTB) Fatal(args ...any)         { s.ts.Fatalf("%s", fmt.Sprint(args...)) }
func (s scriptTB) Fatalf(f string, a ...any) { s.ts.Fatalf(f, a...) }

func positive(ts *testscript.TestScript, neg bool, args []string, least int, usage string) {
	if neg || len(args) < least {
		ts.Fatalf("usage: %s", usage)
	}
}

// exits N COMMAND ARG... runs a command that must end with exactly this status.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	positive(ts, neg, args, 2, "exits N COMMAND ARG...")
	err := ts.Exec(args[1], args[2:]...)
	got := 0
	if err != nil {
		var ee *exec.ExitError
		if !errors.As(err, &ee) {
			ts.Fatalf("%v", err)
		}
		got = ee.ExitCode()
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("exit status %d, want %s", got, args[0])
	}
}

// json FILE POINTER VALUE compares one value. A string is compared as it is,
// anything else as compact JSON; absent, present and >0 are what they say.
func jsonValue(ts *testscript.TestScript, neg bool, args []string) {
	positive(ts, neg, args, 3, "json FILE POINTER VALUE|absent|present|>0")
	document, err := decodeJSON(ts.ReadFile(args[0]))
	if err != nil {
		ts.Fatalf("%s: %v", args[0], err)
	}
	value, found := atPointer(document, args[1])
	want := args[2]
	switch want {
	case "absent":
		if found {
			ts.Fatalf("%s is there: %s", args[1], printJSON(value))
		}
		return
	case "present":
		if !found || value == nil {
			ts.Fatalf("%s is absent or null", args[1])
		}
		return
	}
	if !found {
		ts.Fatalf("%s is absent", args[1])
	}
	if want == ">0" {
		if n, ok := value.(json.Number); !ok || strings.HasPrefix(n.String(), "-") || strings.Trim(n.String(), "0.") == "" {
			ts.Fatalf("%s is %s, want a number above 0", args[1], printJSON(value))
		}
		return
	}
	if got := printJSON(value); got != want {
		ts.Fatalf("%s is %s, want %s", args[1], got, want)
	}
}

func decodeJSON(text string) (any, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is something after the JSON value")
	}
	return v, nil
}

// printJSON is compact JSON, or the text of a string.
func printJSON(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err.Error()
	}
	return strings.TrimSpace(b.String())
}

// atPointer follows an RFC 6901 pointer.
func atPointer(v any, pointer string) (any, bool) {
	if pointer == "/" || pointer == "" {
		return v, true
	}
	for _, part := range strings.Split(strings.TrimPrefix(pointer, "/"), "/") {
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		switch c := v.(type) {
		case map[string]any:
			member, ok := c[part]
			if !ok {
				return nil, false
			}
			v = member
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(c) {
				return nil, false
			}
			v = c[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// onejson FILE wants one JSON value, a line's end, and nothing else.
func oneJSON(ts *testscript.TestScript, neg bool, args []string) {
	positive(ts, neg, args, 1, "onejson FILE")
	text := ts.ReadFile(args[0])
	if _, err := decodeJSON(text); err != nil {
		ts.Fatalf("%s: %v", args[0], err)
	}
	if !strings.HasSuffix(text, "\n") || strings.HasSuffix(text, "\n\n") {
		ts.Fatalf("%s does not end with one line's end", args[0])
	}
}

// normalise FROM TO writes JSON with what no two runs share replaced by a word,
// after it has been looked at: a time that is not negative is SECONDS, and so on.
func normalise(ts *testscript.TestScript, neg bool, args []string) {
	positive(ts, neg, args, 2, "normalise FROM TO")
	document, err := decodeJSON(ts.ReadFile(args[0]))
	if err != nil {
		ts.Fatalf("%s: %v", args[0], err)
	}
	n := normaliser{work: ts.Getenv("WORK")}
	out, err := encode(n.value("", document), "  ")
	if err != nil {
		ts.Fatalf("%v", err)
	}
	if len(n.wrong) > 0 {
		ts.Fatalf("%s", strings.Join(n.wrong, "\n"))
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), out, 0o644))
}

type normaliser struct {
	work  string
	wrong []string
}

func (n *normaliser) value(key string, v any) any {
	switch c := v.(type) {
	case map[string]any:
		if key == "environment" {
			return n.environment(c)
		}
		out := map[string]any{}
		for k, member := range c {
			out[k] = n.value(k, member)
		}
		return out
	case []any:
		for i := range c {
			c[i] = n.value(key, c[i])
		}
		return c
	case string:
		return n.text(key, c)
	case json.Number:
		return n.number(key, c)
	}
	return v
}

func (n *normaliser) text(key, s string) string {
	switch key {
	case "platform":
		return "PLATFORM"
	case "method", "scope": // of the host's engine
		if s == "" {
			n.wrong = append(n.wrong, key+" is empty")
		}
		return strings.ToUpper(key)
	}
	return strings.ReplaceAll(s, n.work, "$WORK")
}

// number keeps what hangs on the provider alone.
func (n *normaliser) number(key string, v json.Number) any {
	f, err := v.Float64()
	if err != nil || f < 0 {
		n.wrong = append(n.wrong, fmt.Sprintf("%s is %s", key, v))
	}
	switch key {
	case "user", "system":
		return "SECONDS" // may be 0: the kernel counts some processes' time by ticks
	case "seconds", "period_seconds":
		if f == 0 {
			n.wrong = append(n.wrong, key+" is 0")
		}
		return "SECONDS"
	case "bytes":
		// Of peaks; an installed size is far below that of any process.
		if f > 100<<10 {
			return "BYTES"
		}
	}
	return v
}

// environment is all of the host; what is null must have its reason.
func (n *normaliser) environment(env map[string]any) any {
	unknown, _ := env["unknown"].(map[string]any)
	for key, v := range env {
		if key == "unknown" || key == "interpreter" {
			continue
		}
		if v == nil && unknown[key] == nil {
			n.wrong = append(n.wrong, "environment."+key+" is null without a reason")
		}
	}
	return "ENVIRONMENT"
}

// mkenv DIR CASE... makes a virtual environment with copies of folders as its
// site-packages, and sets SITE to them.
func (h *scriptHost) makeEnv(ts *testscript.TestScript, neg bool, args []string) {
	positive(ts, neg, args, 1, "mkenv DIR CASE...")
	if h.python == nil {
		ts.Fatalf("no python3 on this host: begin with [!python] skip")
	}
	cases := make([]string, 0, len(args))
	for _, c := range args[1:] {
		if !filepath.IsAbs(c) {
			c = filepath.Join(ts.Getenv("DIST"), c)
		}
		cases = append(cases, c)
	}
	ts.Setenv("SITE", h.python.makeEnvironment(scriptTB{ts: ts}, ts.MkAbs(args[0]), cases...))
}

// cptree FROM TO copies a folder.
func copyTree(ts *testscript.TestScript, neg bool, args []string) {
	positive(ts, neg, args, 2, "cptree FROM TO")
	testenv.CopyTreeTo(scriptTB{ts: ts}, ts.MkAbs(args[0]), ts.MkAbs(args[1]))
}

// provider NAME DIR copies the manifest of that name into a folder, with the
// place of its executable filled in.
func (h *scriptHost) copyProvider(ts *testscript.TestScript, neg bool, args []string) {
	positive(ts, neg, args, 2, "provider NAME DIR")
	copyManifest(scriptTB{ts: ts}, args[0], ts.MkAbs(args[1]))
}

// copyManifest makes dir a folder of an operator's with the provider name.
func copyManifest(t testing.TB, name, dir string) {
	t.Helper()
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	testenv.CopyTreeTo(t, filepath.Join(root, "testdata", "providers", name), dir)
	replaceIn(t, filepath.Join(dir, name+".toml"), "/FOLDER/", dir+"/", false)
}

func replaceIn(t testing.TB, path, old, text string, must bool) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if must && !strings.Contains(string(data), old) {
		t.Fatalf("%s does not contain %q", path, old)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(data), old, text)), info.Mode().Perm()); err != nil {
		t.Fatal(err)
	}
}

// replace FILE OLD NEW changes a text that must be there; \n is a line's end.
func replace(ts *testscript.TestScript, neg bool, args []string) {
	positive(ts, neg, args, 3, "replace FILE OLD NEW")
	lines := strings.NewReplacer(`\n`, "\n")
	replaceIn(scriptTB{ts: ts}, ts.MkAbs(args[0]), lines.Replace(args[1]), lines.Replace(args[2]), true)
}

// relink FILE... turns files that hold a link's target, as the test data has
// them, into links.
func relink(ts *testscript.TestScript, neg bool, args []string) {
	positive(ts, neg, args, 1, "relink FILE...")
	for _, name := range args {
		target := ts.ReadFile(name)
		ts.Check(os.Remove(ts.MkAbs(name)))
		ts.Check(os.Symlink(strings.TrimSpace(target), ts.MkAbs(name)))
	}
}

// fifo PATH makes a named pipe, which nothing may open.
func fifo(ts *testscript.TestScript, neg bool, args []string) {
	positive(ts, neg, args, 1, "fifo PATH")
	ts.Check(syscall.Mkfifo(ts.MkAbs(args[0]), 0o644))
}

// empty DIR wants a folder with nothing in it.
func emptyFolder(ts *testscript.TestScript, neg bool, args []string) {
	positive(ts, neg, args, 1, "empty DIR")
	entries, err := os.ReadDir(ts.MkAbs(args[0]))
	ts.Check(err)
	if len(entries) > 0 {
		ts.Fatalf("%s holds %s and perhaps more", args[0], entries[0].Name())
	}
}

// folder NAME makes a folder with one file; its name is spelt as a Go string.
func quotedFolder(ts *testscript.TestScript, neg bool, args []string) {
	positive(ts, neg, args, 1, "folder 'GO STRING'")
	name, err := strconv.Unquote(`"` + args[0] + `"`)
	ts.Check(err)
	ts.Check(os.Mkdir(ts.MkAbs(name), 0o755))
	ts.Check(os.WriteFile(filepath.Join(ts.MkAbs(name), "a"), []byte("x\n"), 0o644))
}
