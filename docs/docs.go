// Package docs embeds the documents that the command prints.
package docs

import _ "embed"

// Codes is docs/codes.md. Each code is a heading "### `CODE`", a paragraph that
// says what it means, and a line that begins with "Mend: "; families of codes
// are "## " headings.
//
//go:embed codes.md
var Codes string
