//go:build !linux

package measure

import (
	"context"
	"fmt"
	"runtime"
)

func operatingSystem() string { return runtime.GOOS }

// totalMemory asks the kernel itself: gopsutil would start a program for it.
func totalMemory(context.Context) (int64, error) { return hostMemory() }

func governor() (string, error) {
	return "", fmt.Errorf("%s tells of no frequency governor", runtime.GOOS)
}
