package provider

import "golang.org/x/sys/unix"

func osRelease() string {
	release, err := unix.Sysctl("kern.osproductversion")
	if err != nil {
		return ""
	}
	return release
}
