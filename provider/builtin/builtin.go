// Package builtin holds what ships with the program: the manifests of the providers
// that it offers, their JSON Schemas, and the Python workers that serve them. It is
// data only.
package builtin

import "embed"

// FS holds the folder providers: the manifests at its top, and below it schemas and
// the package provider_measure_workers. A manifest names the other files relative to
// its own folder, so the three are kept together when they are written out.
//
// Patterns name files rather than folders, so that the Python package's files that
// begin with an underscore are in, and the bytecode that an interpreter may have left
// beside them is not.
//
//go:embed providers/*.toml providers/schemas/*.json providers/provider_measure_workers/*.py
var FS embed.FS
