package provider

import (
	"path/filepath"
	"testing"
)

// A relative TMPDIR is a folder of ours and of none of our children.
func TestOpenBuiltinsInARelativeFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	manifests, remove, err := OpenBuiltins(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range manifests {
		if !filepath.IsAbs(m.Dir) || !exists(filepath.Join(m.Dir, "provider_measure_workers", "__main__.py")) {
			t.Errorf("%s is laid out in %q", m.ID, m.Dir)
		}
	}
	if err := remove(); err != nil || exists(manifests[0].Dir) {
		t.Errorf("not removed: %v", err)
	}
}
