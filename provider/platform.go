package provider

import (
	"runtime"
	"strings"
)

// HostPlatform names this host the way Python's sysconfig does: linux-x86_64,
// linux-aarch64, macosx-14.0-arm64. On macOS the number is the running system's
// own, where sysconfig gives the oldest one that its interpreter was built for.
func HostPlatform() string {
	arch := map[string]string{"amd64": "x86_64", "386": "i686", "arm64": "aarch64", "arm": "armv7l", "loong64": "loongarch64"}[runtime.GOARCH]
	if arch == "" {
		arch = runtime.GOARCH
	}
	if runtime.GOOS != "darwin" {
		return runtime.GOOS + "-" + arch
	}
	if arch == "aarch64" {
		arch = "arm64"
	}
	parts := strings.SplitN(osRelease(), ".", 3)
	if len(parts) < 2 {
		return "macosx-" + arch
	}
	return "macosx-" + parts[0] + "." + parts[1] + "-" + arch
}
