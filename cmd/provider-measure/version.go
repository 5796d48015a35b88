package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// versionInfo is what the toolchain stamped into the program.
type versionInfo struct {
	Version  string  `json:"version"`  // of the module; (devel) when built from a checkout without a tag
	Revision *string `json:"revision"` // of the version control system; null when built without it
	Time     *string `json:"time"`     // of the revision
	Modified *bool   `json:"modified"` // whether the checkout had local changes
	Go       string  `json:"go"`
	Platform string  `json:"platform"`
}

func readVersion() versionInfo {
	v := versionInfo{Version: "unknown", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	v.Version = info.Main.Version
	for _, setting := range info.Settings {
		value := setting.Value
		switch setting.Key {
		case "vcs.revision":
			v.Revision = &value
		case "vcs.time":
			v.Time = &value
		case "vcs.modified":
			modified := value == "true"
			v.Modified = &modified
		}
	}
	return v
}

// printVersion prints one line: what people and scripts expect of --version.
// JSON is for those who ask for it.
func (s *session) printVersion() error {
	v := readVersion()
	line := func(b *strings.Builder) {
		fmt.Fprintf(b, "%s %s", programName, v.Version)
		switch {
		case v.Revision == nil:
			b.WriteString(" (built without version control)")
		case *v.Modified:
			fmt.Fprintf(b, " (revision %s, with local changes)", *v.Revision)
		default:
			fmt.Fprintf(b, " (revision %s)", *v.Revision)
		}
		fmt.Fprintf(b, " %s %s\n", v.Go, v.Platform)
	}
	if !s.formatAsked {
		var b strings.Builder
		line(&b)
		return s.write([]byte(b.String()))
	}
	return s.print(v, line)
}
