package measure

import (
	"strings"
	"testing"

	"github.com/provider-measure/provider-measure/provider"
)

// retries is what pip 26.3 says of each try.
func retries(cause string) string {
	var b strings.Builder
	for _, left := range []string{"2", "1", "0"} {
		b.WriteString("WARNING: Retrying (Retry(total=" + left + ", connect=None, read=None, redirect=None, status=None)) after connection broken by '" + cause + "': /simple/demo/\n")
	}
	return b.String()
}

const pipNothing = "ERROR: Could not find a version that satisfies the requirement demo==1.0 (from versions: none)\nERROR: No matching distribution found for demo==1.0\n"

// The messages are real, of uv 0.13.9, pip 26.3, npm 11.19 and Go 1.26.8, with
// other hosts and packages put in.
func TestClassify(t *testing.T) {
	const python, npm, golang = provider.InstallPython, provider.InstallNPM, provider.InstallGo
	for _, tt := range []struct {
		name   string
		method provider.InstallMethod
		exit   int
		stderr string
		want   Code
		says   string
	}{
		{"uv refused", python, 2, "error: Request failed after 3 retries in 12.0s\n  cause: Failed to fetch: http://127.0.0.1:9/simple/demo/\n  cause: error sending request for url (http://127.0.0.1:9/simple/demo/)\n  cause: client error (Connect)\n  cause: tcp connect error\n  cause: Connection refused (os error 111)\n", CodeNetworkUnreachable, "Connection refused"},
		{"uv proxy refused", python, 2, "error: Request failed after 3 retries in 7.4s\n  cause: client error (Connect)\n  cause: tunnel error: failed to create underlying connection\n  cause: tcp connect error\n  cause: Connection refused (os error 111)\n", CodeNetworkUnreachable, "Connection refused"},
		{"uv proxy says no", python, 2, "  cause: client error (Connect)\n  cause: tunnel error: unsuccessful\n", CodeNetworkUnreachable, "tunnel error: unsuccessful"},
		{"uv proxy wants a password", python, 2, "  cause: client error (Connect)\n  cause: tunnel error: proxy authorization required\n", CodeNetworkUnreachable, "proxy authorization required"},
		{"uv no name", python, 2, "  cause: client error (Connect)\n  cause: dns error\n  cause: error resolving DNS\n  cause: failed to lookup address information: Name or service not known\n", CodeNetworkUnreachable, "Name or service not known"},
		{"uv certificate", python, 2, "error: Failed to fetch: https://index.example/simple/demo/\n  cause: error sending request for url (https://index.example/simple/demo/)\n  cause: client error (Connect)\n  cause: invalid peer certificate: UnknownIssuer\n\nhint: Consider enabling use of system TLS certificates with the `--system-certs` command-line flag\n", CodeNetworkUnreachable, "invalid peer certificate"},
		{"uv wrong version", python, 1, "Using CPython 3.11.7 interpreter at: /opt/python3\nerror: No solution found when resolving dependencies\n  cause: Because there is no version of demo==99.9 and you require demo==99.9, we can conclude that your requirements are unsatisfiable.\n", CodeInstallFailed, "no version of demo==99.9"},
		{"uv unknown package", python, 1, "error: No solution found when resolving dependencies\n  cause: Because demo was not found in the package registry and you require demo==1.0, we can conclude that your requirements are unsatisfiable.\n", CodeInstallFailed, "not found in the package registry"},
		{"uv index broken", python, 2, "error: Request failed after 3 retries in 11.5s\n  cause: Failed to fetch: http://127.0.0.1:1/simple/demo/\n  cause: HTTP status server error (503 Service Unavailable) for url (http://127.0.0.1:1/simple/demo/)\n", CodeInstallFailed, "503 Service Unavailable"},
		{"uv index forbids", python, 1, "error: No solution found when resolving dependencies\n  cause: Because demo was not found in the package registry and you require demo==1.0, we can conclude that your requirements are unsatisfiable.\n\nhint: An index (http://127.0.0.1:1/simple) returned a 403 Forbidden error. Check that the index URL is correct and the credentials are valid.\n", CodeInstallFailed, "403 Forbidden"},
		{"pip refused", python, 1, retries(`NewConnectionError("HTTPConnection(host='127.0.0.1', port=9): Failed to establish a new connection: [Errno 111] Connection refused")`) + pipNothing, CodeNetworkUnreachable, "Connection refused"},
		{"pip proxy says no", python, 1, retries(`OSError('Tunnel connection failed: 403 Forbidden')`) + pipNothing, CodeNetworkUnreachable, "403 Forbidden"},
		{"pip no name", python, 1, retries(`NameResolutionError("HTTPSConnection(host='index.invalid', port=443): Failed to resolve 'index.invalid' ([Errno -2] Name or service not known)")`) + pipNothing, CodeNetworkUnreachable, "Failed to resolve"},
		{"pip got through after a try", python, 1, strings.Split(retries("OSError('x')"), "\n")[0] + "\n" + pipNothing, CodeInstallFailed, "from versions: none"},
		{"pip wrong version", python, 1, "ERROR: Could not find a version that satisfies the requirement demo==99.9 (from versions: 1.0, 1.1)\nERROR: No matching distribution found for demo==99.9\n", CodeInstallFailed, "from versions: 1.0, 1.1"},
		{"pip unknown package, or index broken", python, 1, pipNothing, CodeInstallFailed, "from versions: none"},
		{"npm refused", npm, 1, "npm error code ECONNREFUSED\nnpm error syscall connect\nnpm error errno ECONNREFUSED\nnpm error FetchError: request to http://127.0.0.1:9/left failed, reason: connect ECONNREFUSED 127.0.0.1:9\n", CodeNetworkUnreachable, "ECONNREFUSED"},
		{"npm no name", npm, 1, "npm error code ENOTFOUND\nnpm error syscall getaddrinfo\nnpm error network request to https://index.invalid/left failed, reason: getaddrinfo ENOTFOUND index.invalid\n", CodeNetworkUnreachable, "ENOTFOUND"},
		{"npm certificate", npm, 1, "npm error code SELF_SIGNED_CERT_IN_CHAIN\nnpm error errno SELF_SIGNED_CERT_IN_CHAIN\n", CodeNetworkUnreachable, "SELF_SIGNED_CERT_IN_CHAIN"},
		{"npm of before", npm, 1, "npm ERR! code EAI_AGAIN\n", CodeNetworkUnreachable, "EAI_AGAIN"},
		{"npm wrong version", npm, 1, "npm error code ETARGET\nnpm error notarget No matching version found for left@99.3.0.\n", CodeInstallFailed, "No matching version"},
		{"npm unknown package", npm, 1, "npm error code E404\nnpm error 404 Not Found - GET http://127.0.0.1:1/left\n", CodeInstallFailed, "404 Not Found"},
		{"npm proxy says no, like a registry", npm, 1, "npm error code E403\nnpm error 403 403 Forbidden - GET http://127.0.0.1:1/left\n", CodeInstallFailed, "403 Forbidden"},
		{"npm registry broken", npm, 1, "npm error code E503\nnpm error 503 Service Unavailable - GET http://127.0.0.1:1/left\n", CodeInstallFailed, "503"},
		{"go refused", golang, 1, "go: m.example/x@v0.30.0: m.example/x@v0.30.0: Get \"http://127.0.0.1:9/m.example/x/@v/v0.30.0.info\": dial tcp 127.0.0.1:9: connect: connection refused\n", CodeNetworkUnreachable, "connection refused"},
		{"go proxy refused", golang, 1, "go: m.example/x@v0.30.0: m.example/x@v0.30.0: Get \"https://index.example/m.example/x/@v/v0.30.0.info\": proxyconnect tcp: dial tcp 127.0.0.1:9: connect: connection refused\n", CodeNetworkUnreachable, "proxyconnect"},
		{"go proxy says no", golang, 1, "go: m.example/x@v0.30.0: m.example/x@v0.30.0: Get \"https://index.example/m.example/x/@v/v0.30.0.info\": Forbidden\n", CodeNetworkUnreachable, "Forbidden"},
		{"go no name", golang, 1, "go: m.example/x@v0.30.0: Get \"https://index.invalid/x/@v/v0.30.0.info\": dial tcp: lookup index.invalid on 127.0.0.1:53: no such host\n", CodeNetworkUnreachable, "no such host"},
		{"go wrong version", golang, 1, "go: m.example/x@v0.999.0: m.example/x@v0.999.0: reading https://index.example/m.example/x/@v/v0.999.0.info: 404 Not Found\n", CodeInstallFailed, "404 Not Found"},
		{"go proxy broken", golang, 1, "go: m.example/x@v0.30.0: reading http://127.0.0.1:1/m.example/x/@v/v0.30.0.info: 503 Service Unavailable\n", CodeInstallFailed, "503"},
		{"go does not compile", golang, 1, "go: downloading m.example/x v0.30.0\n# m.example/x\n./a.go:1:1: expected 'package'\n", CodeInstallFailed, "expected 'package'"},
		{"command refused", provider.InstallCommand, 7, "curl: (7) Failed to connect to 127.0.0.1 port 9: Connection refused\n", CodeNetworkUnreachable, "Connection refused"},
		{"command no name", provider.InstallCommand, 6, "curl: (6) Could not resolve host: index.invalid\n", CodeNetworkUnreachable, "Could not resolve host"},
		{"command fails", provider.InstallCommand, 2, "make: *** no rule\n", CodeInstallFailed, "no rule"},
		{"silent", python, 1, "", CodeInstallFailed, "printed nothing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code, text := classify(tt.method, tt.exit, "", tt.stderr)
			if code != tt.want || !strings.Contains(text, tt.says) || !strings.HasPrefix(text, "exit code ") {
				t.Errorf("%s: %q, want %s that says %q", code, text, tt.want, tt.says)
			}
		})
	}
}
