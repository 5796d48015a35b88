package provider

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	godigest "github.com/opencontainers/go-digest"

	"github.com/provider-measure/provider-measure/digest"
)

func (h *Host) measureTree(ctx context.Context, m *Manifest, id *Identification) (string, godigest.Digest, map[string]any, *Error) {
	if m.Identity.Root != "" {
		root, failure := below(m, m.Identity.Root)
		if failure != nil {
			return "", "", nil, failure
		}
		tree, err := digest.Tree(ctx, root, digest.TreeOptions{Exclude: m.Identity.Exclude, CollectFiles: true})
		if err != nil {
			return "", "", nil, digestError(err, CodeUnavailable, "")
		}
		if tree.Files == 0 {
			return "", "", nil, &Error{Code: CodeUnavailable, Reason: digest.CodeNotFound, Path: root, Message: root + " holds no file"}
		}
		id.Measured.Tree = &tree
		config := map[string]any{"root": tree.Root, "tree_format": string(tree.Format)}
		if len(m.Identity.Exclude) > 0 {
			config["exclude"] = m.Identity.Exclude
		}
		return m.Version, tree.Digest, config, nil
	}
	search, declared, failure := h.entrypointPath(ctx, m)
	if failure != nil {
		return "", "", nil, failure
	}
	tree, err := digest.PythonPackage(ctx, search, m.Identity.Entrypoint, digest.TreeOptions{CollectFiles: true})
	if err != nil {
		return "", "", nil, digestError(err, CodeUnavailable, "")
	}
	id.Measured.Tree = &tree
	config := map[string]any{"entrypoint": m.Identity.Entrypoint, "tree_format": string(tree.Format)}
	if len(declared) > 0 {
		config["search_path"] = declared
	}
	return m.Version, tree.Digest, config, nil
}

// entrypointPath is where an entrypoint's package is looked for. What the
// manifest, the folder of an operator's manifest, or an editable install adds to
// the interpreter's own path is declared: it goes into configuration, or nobody could measure
// again without the manifest.
func (h *Host) entrypointPath(ctx context.Context, m *Manifest) (search, declared []string, failure *Error) {
	for _, dir := range m.Identity.SearchPath {
		dir, failure := below(m, dir)
		if failure != nil {
			return nil, nil, failure
		}
		declared = append(declared, dir)
	}
	if len(declared) == 0 && m.Origin == Operator && m.Dir != "" {
		declared = []string{m.Dir}
	}
	if m.Identity.Distribution != "" {
		dirs, failure := h.editableDirs(ctx, m)
		if failure != nil {
			return nil, nil, failure
		}
		declared = append(declared, dirs...)
	}
	return append(slices.Clone(declared), h.commonModulePath(ctx)...), declared, nil
}

// below makes a path of the manifest absolute.
func below(m *Manifest, path string) (string, *Error) {
	if filepath.IsAbs(path) {
		return filepath.Clean(path), nil
	}
	if m.Dir == "" {
		return "", &Error{
			Code: CodeUnavailable, Reason: ReasonWorkersUnavailable, Path: path,
			Message: fmt.Sprintf("%s is relative to the manifest's folder, and the manifest was only read, not laid out", path),
		}
	}
	return filepath.Join(m.Dir, path), nil
}

// commonModulePath is where every entrypoint is looked for after its own path:
// the built-in workers, then the interpreter's path when there is one.
func (h *Host) commonModulePath(ctx context.Context) []string {
	var search []string
	if h.workerDir != "" {
		search = append(search, h.workerDir)
	}
	if python, err := h.Python(ctx); err == nil {
		search = append(search, python.Site...)
	}
	return search
}

// editableDirs are the folders that an editable install of the manifest's
// distribution imports from; none when it is not editable.
func (h *Host) editableDirs(ctx context.Context, m *Manifest) ([]string, *Error) {
	d, failure := h.findDistribution(ctx, m.Identity.Distribution, "")
	if failure != nil {
		return nil, failure
	}
	if d.Editable == nil {
		return nil, nil
	}
	if !d.Editable.CheckoutExists {
		return nil, &Error{
			Code: CodeUnavailable, Reason: ReasonEditable, Path: d.Editable.Checkout,
			Message: fmt.Sprintf("%s is an editable install of a checkout that is gone: %s", d.Name, d.Editable.URL),
			Hint:    "restore the checkout, or install the distribution again",
		}
	}
	dirs := slices.Clone(d.Editable.ImportDirs)
	if d.Editable.Checkout != "" {
		dirs = append(dirs, d.Editable.Checkout)
	}
	for i, dir := range dirs {
		dirs[i] = filepath.Clean(dir)
	}
	return dirs, nil
}
