package measure

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/shirou/gopsutil/v3/mem"
)

func operatingSystem() string { return "linux" }

func totalMemory(ctx context.Context) (int64, error) {
	m, err := mem.VirtualMemoryWithContext(ctx)
	if err != nil {
		return 0, err
	}
	return int64(m.Total), nil
}

// governor reads the frequency governor of every processor; there is normally
// one for all.
func governor() (string, error) { return governorsIn("/sys/devices/system/cpu") }

func governorsIn(dir string) (string, error) {
	names, err := filepath.Glob(filepath.Join(dir, "cpu[0-9]*", "cpufreq", "scaling_governor"))
	if err != nil {
		return "", err
	}
	if len(names) == 0 {
		return "", errors.New("the kernel offers no frequency scaling")
	}
	var found []string
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return "", err
		}
		found = append(found, strings.TrimSpace(string(data)))
	}
	slices.Sort(found)
	return strings.Join(slices.Compact(found), ","), nil
}
