package measure

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/provider-measure/provider-measure/provider"
)

// classify tells an unreachable network from a failed install by what the
// installer said. Unreachable means that no connection to the index, or to the
// proxy before it, came about: the name did not resolve, it was refused, reset
// or timed out, the proxy would not pass it on, or the certificate was not
// trusted. An index that answered, with whatever status, was reached.
//
// Two installers hide the difference: pip reports an index's 5xx like an unknown
// package, and npm a proxy's 403 like the registry's. Both count as failed.
func classify(method provider.InstallMethod, exit int, stdout, stderr string) (Code, string) {
	text := stdout + "\n" + stderr
	if said := network(method, text); said != "" {
		return CodeNetworkUnreachable, fmt.Sprintf("exit code %d; %s", exit, said)
	}
	return CodeInstallFailed, fmt.Sprintf("exit code %d; %s", exit, complaint(text))
}

// network returns the line that shows a connection failed for good, or "".
func network(method provider.InstallMethod, text string) string {
	for _, pattern := range networkPatterns(method) {
		re := regexp.MustCompile(pattern)
		for line := range strings.Lines(text) {
			if re.MatchString(line) {
				return strings.TrimSpace(line)
			}
		}
	}
	return ""
}

// networkPatterns are matched against single lines, the most telling first.
// Each comes from a real message; see TestClassify.
func networkPatterns(method provider.InstallMethod) []string {
	uv := []string{
		`invalid peer certificate`, `tunnel error: (unsuccessful|proxy authorization required)`, `failed to lookup address information`,
		`dns error`, `\(os error (101|104|110|111|113)\)`, `tcp connect error`, `client error \(Connect\)`, `operation timed out`,
	}
	// pip warns at each try and then says that there is no such version. Only the
	// last try shows that none got through.
	pip := []string{
		`Retrying \(Retry\(total=0,.*after connection broken by`, `Max retries exceeded with url`, `Could not fetch URL .*: (connection error|There was a problem confirming the ssl certificate)`,
		`(ConnectTimeoutError|ReadTimeoutError|Read timed out)`,
	}
	npm := []string{
		`npm (error|ERR!) code (ECONNREFUSED|ECONNRESET|ENOTFOUND|ETIMEDOUT|EAI_AGAIN|ENETUNREACH|EHOSTUNREACH|EPROTO|ERR_SOCKET_TIMEOUT|EIDLETIMEOUT)`,
		`npm (error|ERR!) code (CERT_[A-Z_]+|ERR_TLS_[A-Z_]+|UNABLE_TO_[A-Z_]+|SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT)`,
	}
	// Go's HTTP client puts the request before a failure of transport; a status
	// that the server sent reads `reading URL: 404 Not Found`.
	golang := []string{`(Get|Head) "[^"]*": `, `dial (tcp|udp)`, `proxyconnect tcp`}
	switch method {
	case provider.InstallPython:
		return append(uv, pip...)
	case provider.InstallNPM:
		return npm
	case provider.InstallGo:
		return golang
	case provider.InstallCommand:
		all := append(append(append(uv, pip...), npm...), golang...)
		return append(all, `Could not resolve host`, `(?i)connection refused`, `(?i)network is unreachable`, `(?i)no route to host`, `(?i)temporary failure in name resolution`)
	}
	return nil
}

// complaint picks the lines in which an installer says what is wrong: from the
// first that begins like an error, else the last that is not empty.
func complaint(text string) string {
	begins := regexp.MustCompile(`^\s*(error\b|ERROR\b|npm (error|ERR!)|go: [^d]|fatal)`)
	var lines []string
	last := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		last = line
		if len(lines) > 0 || begins.MatchString(line) {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		if last == "" {
			return "it printed nothing"
		}
		return last
	}
	return strings.Join(lines[:min(len(lines), 4)], "; ")
}
