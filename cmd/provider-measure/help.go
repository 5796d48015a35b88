package main

import "io"

// helpWriter keeps the error that urfave/cli drops when it prints help.
type helpWriter struct {
	to  io.Writer
	err error
}

func (h *helpWriter) Write(data []byte) (int, error) {
	n, err := h.to.Write(data)
	if err != nil && h.err == nil {
		h.err = err
	}
	return n, err
}

func (h *helpWriter) failure() error {
	if h.err == nil {
		return nil
	}
	return outputFailed(h.err)
}

// Templates of urfave/cli, so that the main job and an example come first and
// the options of every command are listed with each.

const appHelp = `{{.Name}} - {{.Usage}}

USAGE:
{{.UsageText | indent 3}}

{{.Description | indent 3}}

COMMANDS:{{range .VisibleCommands}}
   {{printf "%-12s" .Name}} {{.Usage}}{{end}}

OPTIONS:{{range .VisibleFlags}}
   {{. | printf "%s"}}{{end}}

EXIT STATUS:
   0 good   1 a finding (unavailable, changed, over budget, failed case)
   2 usage or configuration   3 could not be determined   4 stopped, timed out or internal
`

const commandHelp = `{{.HelpName}} - {{.Usage}}

USAGE:
   {{.HelpName}}{{if .VisibleFlags}} [options]{{end}} {{.ArgsUsage}}
{{if .Description}}
{{.Description | indent 3}}
{{end}}{{if .VisibleFlags}}
OPTIONS:{{range .VisibleFlags}}
   {{. | printf "%s"}}{{end}}
{{end}}
OPTIONS OF EVERY COMMAND:
   --format FORMAT, --python PATH, --providers DIR; see provider-measure --help
`
