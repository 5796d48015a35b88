package measure

import (
	"fmt"
	"path/filepath"
	"testing"
)

func TestGovernors(t *testing.T) {
	for _, tt := range []struct {
		in   []string
		want string
	}{{[]string{"performance", "performance"}, "performance"}, {[]string{"schedutil", "performance"}, "performance,schedutil"}} {
		dir := t.TempDir()
		for i, g := range tt.in {
			write(t, filepath.Join(dir, fmt.Sprintf("cpu%d", i), "cpufreq", "scaling_governor"), g+"\n", 0o644)
		}
		if got, err := governorsIn(dir); err != nil || got != tt.want {
			t.Errorf("%v: %q, %v", tt.in, got, err)
		}
	}
	if got, err := governorsIn(t.TempDir()); err == nil {
		t.Errorf("governor %q of a kernel without", got)
	}
}
