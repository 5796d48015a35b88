package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/provider-measure/provider-measure/docs"
)

func (s *session) explainCommand() *cli.Command {
	return &cli.Command{
		Name:        "explain",
		Usage:       "say what a code means and what mends it",
		ArgsUsage:   "CODE",
		Description: "Every code in an error, a reason or a diagnostic has an entry. Without a code, all are listed.",
		Action:      s.explain,
	}
}

// explanation is one entry of docs/codes.md.
type explanation struct {
	Code    string `json:"code"`
	Meaning string `json:"meaning"`
	Mend    string `json:"mend"`
}

// explanations reads docs/codes.md: a heading "### `CODE`", a paragraph of
// meaning, and a line that begins with "Mend:".
func explanations(text string) []explanation {
	var all []explanation
	var current *explanation
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if code, ok := strings.CutPrefix(line, "### `"); ok {
			all = append(all, explanation{Code: strings.TrimSuffix(code, "`")})
			current = &all[len(all)-1]
			continue
		}
		if strings.HasPrefix(line, "#") {
			current = nil
		}
		if current == nil || line == "" {
			continue
		}
		if mend, ok := strings.CutPrefix(line, "Mend: "); ok {
			current.Mend = mend
		} else if current.Mend != "" {
			current.Mend += " " + line
		} else {
			current.Meaning = strings.TrimSpace(current.Meaning + " " + line)
		}
	}
	return all
}

func (s *session) explain(c *cli.Context) error {
	if err := s.checkFormat(c); err != nil {
		return err
	}
	all := explanations(docs.Codes)
	if c.NArg() == 0 {
		return s.print(all, func(b *strings.Builder) {
			for _, e := range all {
				fmt.Fprintf(b, "%s\n", e.Code)
			}
		})
	}
	if c.NArg() > 1 {
		return usage("explain takes one code, got %d", c.NArg())
	}
	code := c.Args().First()
	names := make([]string, 0, len(all))
	for _, e := range all {
		if e.Code == code {
			return s.print(e, func(b *strings.Builder) {
				fmt.Fprintf(b, "%s\n  %s\n  mend: %s\n", e.Code, e.Meaning, e.Mend)
			})
		}
		names = append(names, e.Code)
	}
	return unknownName(codeUnknownCode, "code", code, names)
}
