package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/urfave/cli/v2"

	"github.com/provider-measure/provider-measure/internal/schemagen"
	"github.com/provider-measure/provider-measure/internal/testenv"
	"github.com/provider-measure/provider-measure/provider"
)

// update rewrites the files that are generated from the program: go test
// ./cmd/provider-measure -update.
func update() bool { return flag.Lookup("update").Value.String() == "true" }

// reference prints every command with its options the way docs/cli.md has it.
func reference(app *cli.App) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# The command\n\nThis file is made from the program (`go test ./cmd/provider-measure -update`); a test fails when it is stale.\n\n")
	fmt.Fprintf(&b, "## %s\n\n%s.\n\n```\n%s\n```\n\n%s\n\n", app.Name, app.Usage, app.UsageText, paragraph(app.Description))
	b.WriteString("Options are accepted before and after arguments; after `--` nothing is an option. These are options of every command,\nbut those of the main job, which belong to it alone:\n\n")
	flagTable(&b, app.Flags)
	b.WriteString(`Standard output carries the result and nothing else: text on a terminal, JSON elsewhere. Progress, warnings and
findings go to standard error, and so do errors, in JSON as
` + "`{\"error\":{\"code\",\"reason\",\"message\",\"hint\",\"path\"}}`" + ` with null for what there is not; a warning or a
finding beside a result is ` + "`{\"warning\":{\"message\"}}` or `{\"finding\":{\"message\"}}`" + `, so that each line is one JSON value. ` + "`explain CODE`" + `
says what a code means.

| exit status | meaning |
|---|---|
| 0 | done, and nothing was found wrong |
| 1 | a finding: unavailable (a probe that timed out among it), changed, over budget, failed case |
| 2 | usage or configuration |
| 3 | could not be determined |
| 4 | the command itself was stopped, timed out, could not write its result, or failed internally |
`)
	for _, c := range app.Commands {
		fmt.Fprintf(&b, "\n## %s %s\n\n%s.\n\n```\n%s %s %s\n```\n", app.Name, c.Name, c.Usage, app.Name, c.Name, c.ArgsUsage)
		if c.Description != "" {
			fmt.Fprintf(&b, "\n```\n%s\n```\n", c.Description)
		}
		if len(c.Flags) > 0 {
			b.WriteString("\n")
			flagTable(&b, c.Flags)
		}
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// paragraph puts the indented example of a description into a code block.
func paragraph(text string) string {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		if code, ok := strings.CutPrefix(line, "   "); ok {
			line = "```\n" + code + "\n```"
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

func flagTable(b *strings.Builder, flags []cli.Flag) {
	b.WriteString("| option | meaning |\n|---|---|\n")
	for _, f := range flags {
		name, usage, _ := strings.Cut(f.String(), "\t")
		fmt.Fprintf(b, "| `%s` | %s |\n", strings.TrimSpace(name), strings.TrimSpace(usage))
	}
	b.WriteString("\n")
}

func TestReferenceIsFresh(t *testing.T) {
	s := &session{outside: outside{lookup: func(string) (string, bool) { return "", false }}}
	app := s.app()
	app.Setup()
	var commands []*cli.Command
	for _, c := range app.Commands {
		if c.Name != "help" {
			commands = append(commands, c)
		}
	}
	app.Commands = commands
	sameFile(t, filepath.Join(testenv.RepoRoot(t), "docs", "cli.md"), []byte(reference(app)))
}

func TestSchemasAreFresh(t *testing.T) {
	for _, name := range schemaNames() {
		schema, err := schemaOf(name)
		if err != nil {
			t.Fatal(err)
		}
		data, err := schemagen.Print(schema)
		if err != nil {
			t.Fatal(err)
		}
		sameFile(t, filepath.Join(testenv.RepoRoot(t), "docs", "schemas", name+".json"), data)
	}
}

func sameFile(t *testing.T, path string, want []byte) {
	t.Helper()
	if update() {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s is stale; run go test ./cmd/provider-measure -update\n%s", filepath.Base(path), diff)
	}
}

// A capability ID always has a separator, so that no command can be taken for
// one, now or later.
func TestNoCommandIsACapability(t *testing.T) {
	s := &session{}
	for _, c := range s.app().Commands {
		for _, name := range c.Names() {
			if provider.ValidCapabilityID(name) {
				t.Errorf("command %q could be a capability", name)
			}
		}
	}
	// Commands that are planned.
	for _, name := range []string{"verify", "probe", "lock", "run", "serve", "sidecar", "checker", "conformance", "compare", "history", "report", "judge", "trace", "calibrate"} {
		if provider.ValidCapabilityID(name) {
			t.Errorf("command %q could be a capability", name)
		}
	}
}
