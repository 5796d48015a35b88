//go:build !linux && !darwin

package measure

import (
	"fmt"
	"runtime"
)

func hostMemory() (int64, error) { return 0, fmt.Errorf("not known how to ask %s", runtime.GOOS) }
