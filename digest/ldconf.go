package digest

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// confItem is one meaningful line of ld.so.conf.
type confItem struct {
	include bool
	text    string // pattern of an include, else a directory
}

// parseLDConf reads ld.so.conf as ldconfig does: # starts a comment; "include"
// is followed by patterns; hwcap lines mean nothing any more; any other line is
// one absolute directory, which may end in =type.
func parseLDConf(data []byte) []confItem {
	var items []confItem
	for line := range strings.Lines(string(data)) {
		line, _, _ = strings.Cut(line, "#")
		line = strings.Trim(line, " \t\r\n\v\f")
		if line == "" || strings.IndexByte(line, 0) >= 0 {
			continue
		}
		fields := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' })
		switch {
		case fields[0] == "include" && len(fields) > 1:
			for _, pattern := range fields[1:] {
				items = append(items, confItem{include: true, text: pattern})
			}
		case fields[0] == "include", fields[0] == "hwcap":
		default:
			dir := line
			if i := strings.LastIndexByte(dir, '='); i >= 0 {
				dir = strings.TrimRight(dir[:i], " \t")
			}
			if filepath.IsAbs(dir) {
				items = append(items, confItem{text: filepath.Clean(dir)})
			}
		}
	}
	return items
}

// Limits of a configuration that includes itself or the whole disk.
const (
	maxConfDepth = 8
	maxConfFiles = 1024
	maxConfBytes = 1 << 20
)

// confReader collects the directories of ld.so.conf and what it includes.
type confReader struct {
	ctx   context.Context //nolint:containedctx // lives for one call
	root  string          // put before each path; "" but in tests
	files int
	dirs  []string
}

// read takes in one file. One that isn't there or can't be read has no
// directories, as for ldconfig.
func (c *confReader) read(path string, depth int) {
	if depth > maxConfDepth || c.files >= maxConfFiles {
		return
	}
	c.files++
	data, ok := readConf(c.ctx, c.root+path)
	if !ok {
		return
	}
	for _, item := range parseLDConf(data) {
		if !item.include {
			if !slices.Contains(c.dirs, item.text) {
				c.dirs = append(c.dirs, item.text)
			}
			continue
		}
		pattern := item.text
		if !filepath.IsAbs(pattern) {
			pattern = filepath.Join(filepath.Dir(path), pattern)
		}
		matches, err := filepath.Glob(c.root + pattern)
		if err != nil {
			continue
		}
		for _, m := range matches {
			c.read(strings.TrimPrefix(m, c.root), depth+1)
		}
	}
}

// readConf reads a small regular file, links followed.
func readConf(ctx context.Context, path string) ([]byte, bool) {
	if ctx.Err() != nil {
		return nil, false
	}
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxConfBytes {
		return nil, false
	}
	data, err := os.ReadFile(path)
	return data, err == nil
}
