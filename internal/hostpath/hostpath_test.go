package hostpath

import (
	"os"
	"path/filepath"
	"testing"
)

func TestFind(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for name, mode := range map[string]os.FileMode{"first/plain": 0o644, "second/plain": 0o755, "second/tool": 0o755} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join("first", "tool"), 0o755); err != nil {
		t.Fatal(err)
	}
	first, second := filepath.Join(dir, "first"), filepath.Join(dir, "second")
	for _, tt := range []struct{ path, name, want string }{
		{first + ":" + second, "plain", filepath.Join(second, "plain")}, // not executable in first
		{first + ":" + second, "tool", filepath.Join(second, "tool")},   // a folder in first
		{second + "/", "tool", filepath.Join(second, "tool")},
		{"second:./second::", "tool", ""}, // relative
		{first, "tool", ""},
		{"", "tool", ""},
	} {
		if got, ok := Find(tt.path, tt.name); got != tt.want || ok != (tt.want != "") {
			t.Errorf("Find(%q, %q) = %q, %v", tt.path, tt.name, got, ok)
		}
	}
}
