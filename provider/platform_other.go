//go:build !darwin

package provider

func osRelease() string { return "" }
