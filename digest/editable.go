//go:build unix

package digest

import (
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json"
)

// Editable describes an editable ("development") installation: site-packages
// has only a pointer, and what Python imports is a checkout that RECORD says
// nothing about.
type Editable struct {
	URL string `json:"url,omitempty"` // from direct_url.json
	// Checkout is the directory of a file: URL, "" if there is none.
	Checkout string `json:"checkout,omitempty"`
	// CheckoutExists is false when the checkout is gone: nothing can be imported.
	CheckoutExists bool `json:"checkout_exists"`
	// ImportDirs are what its .pth files add to the search path.
	ImportDirs []string `json:"import_dirs,omitempty"`
	// Finder is set when a .pth file runs code instead, so that only Python can
	// say what is imported.
	Finder bool `json:"finder,omitempty"`
}

// editable looks for the signs of an editable installation: direct_url.json that
// says so (PEP 660), or a recorded .pth file as setuptools names them.
func (f *finder) editable(d *Distribution) (*Editable, error) {
	ed, err := f.directURL(d)
	if err != nil {
		return nil, err
	}
	for _, row := range d.Record.Rows {
		if path.Ext(row.Path) != ".pth" || path.Base(row.Path) != row.Path {
			continue
		}
		if ed == nil && !strings.HasPrefix(row.Path, "__editable__") {
			continue
		}
		if ed == nil {
			ed = &Editable{}
		}
		data, err := f.read(d.Site, row.Path, maxSmall)
		if isCode(err, CodeNotFound) {
			continue // the inventory reports it
		}
		if err != nil {
			return nil, err
		}
		ed.addPth(d.Site, string(data))
	}
	if ed != nil {
		ed.CheckoutExists = ed.exists()
	}
	return ed, nil
}

func (f *finder) directURL(d *Distribution) (*Editable, error) {
	data, err := f.read(d.MetadataDir, "direct_url.json", maxSmall)
	if isCode(err, CodeNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var v struct {
		URL     string `json:"url"`
		DirInfo struct {
			Editable bool `json:"editable"`
		} `json:"dir_info"`
	}
	if err := json.Unmarshal(data, &v); err != nil {
		// Whether it is editable decides what is measured: not to be guessed.
		return nil, &Error{Code: CodeMetadataMalformed, Op: opFind, Path: d.MetadataDir + "/direct_url.json", Err: err}
	}
	if !v.DirInfo.Editable {
		return nil, nil
	}
	ed := &Editable{URL: v.URL}
	if u, err := url.Parse(v.URL); err == nil && u.Scheme == "file" && (u.Host == "" || u.Host == "localhost") &&
		filepath.IsAbs(u.Path) && strings.IndexByte(u.Path, 0) < 0 {
		ed.Checkout = filepath.Clean(u.Path)
	}
	return ed, nil
}

// addPth reads a .pth file as Python's site module does: a line is a directory,
// relative to site, unless it is blank, a comment, or starts with import.
func (e *Editable) addPth(site, text string) {
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\r\n")
		switch {
		case line == "" || strings.HasPrefix(line, "#") || strings.IndexByte(line, 0) >= 0:
		case strings.HasPrefix(line, "import ") || strings.HasPrefix(line, "import\t"):
			e.Finder = true
		case filepath.IsAbs(line):
			e.ImportDirs = append(e.ImportDirs, filepath.Clean(line))
		default:
			e.ImportDirs = append(e.ImportDirs, filepath.Join(site, line))
		}
	}
}

// exists reports whether everything that the installation points at is there.
func (e *Editable) exists() bool {
	dirs := e.ImportDirs
	if e.Checkout != "" {
		dirs = append([]string{e.Checkout}, dirs...)
	}
	for _, dir := range dirs {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return false
		}
	}
	return len(dirs) > 0 || e.Finder
}
