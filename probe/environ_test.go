package probe

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func fixedEnv(extra ...string) []string {
	return append([]string{
		"HOME=/s", "LANG=C.UTF-8", "LC_ALL=C.UTF-8", "PYTHONDONTWRITEBYTECODE=1", "PYTHONHASHSEED=0", "TMPDIR=/s", "TZ=UTC",
	}, extra...)
}

func TestComposeEnvironment(t *testing.T) {
	host := map[string]string{
		"EDITOR": "vi", "EMPTY": "", "AWS_REGION": "x", "MY_API_KEY": "hunter2", "TZ": "Mars", "PATH": "/host",
	}
	lookup := func(name string) (string, bool) { v, ok := host[name]; return v, ok }
	for _, tt := range []struct {
		name     string
		env      Environment
		want     []string
		withheld []string
		wantErr  error
		names    string // that the message must hold
	}{
		{name: "nothing", want: fixedEnv()},
		{name: "admitted without a lookup", env: Environment{Admit: []string{"EDITOR"}}, want: fixedEnv()},
		{name: "admitted", env: Environment{Admit: []string{"EDITOR", "EMPTY", "NOT_SET"}, Lookup: lookup}, want: fixedEnv("EDITOR=vi", "EMPTY=")},
		{name: "admitted over fixed", env: Environment{Admit: []string{"TZ"}, Lookup: lookup}, want: fixedEnv("TZ=Mars")},
		{name: "constant over admitted", env: Environment{Admit: []string{"EDITOR"}, Lookup: lookup, Set: []string{"EDITOR=ed"}}, want: fixedEnv("EDITOR=ed")},
		{name: "withheld", env: Environment{Admit: []string{"MY_API_KEY", "AWS_REGION", "MY_API_KEY"}, Lookup: lookup}, want: fixedEnv(), withheld: []string{"AWS_REGION", "MY_API_KEY"}},
		{name: "withheld only when set", env: Environment{Admit: []string{"OTHER_TOKEN"}, Lookup: lookup}, want: fixedEnv()},
		{name: "a constant is the manifest's own", env: Environment{Set: []string{"DEMO_TOKEN=t"}}, want: fixedEnv("DEMO_TOKEN=t")},
		{name: "value with equals and scratch", env: Environment{Set: []string{"OPTS=a=b:${scratch}/x"}}, want: fixedEnv("OPTS=a=b:/s/x")},
		{name: "path", env: Environment{Path: []string{"/a", "${scratch}/bin"}}, want: fixedEnv("PATH=/a:/s/bin")},
		{name: "path over constant", env: Environment{Path: []string{"/a"}, Set: []string{"PATH=/b"}}, want: fixedEnv("PATH=/a")},
		{name: "no equals", env: Environment{Set: []string{"NAME"}}, wantErr: CodeBadEnv, names: "NAME"},
		{name: "empty entry", env: Environment{Set: []string{""}}, wantErr: CodeBadEnv},
		{name: "empty name", env: Environment{Set: []string{"=x"}}, wantErr: CodeBadEnv},
		{name: "twice", env: Environment{Set: []string{"A=1", "A=2"}}, wantErr: CodeBadEnv, names: "A"},
		{name: "NUL in value", env: Environment{Set: []string{"A=\x00"}}, wantErr: CodeBadEnv, names: "A"},
		{name: "NUL in name", env: Environment{Set: []string{"A\x00B=1"}}, wantErr: CodeBadEnv},
		{name: "equals in admitted name", env: Environment{Admit: []string{"A=B"}}, wantErr: CodeBadEnv},
		{name: "too long", env: Environment{Set: []string{"BIG=" + strings.Repeat("x", 128<<10)}}, wantErr: CodeEnvTooLong, names: "BIG"},
		{name: "relative path", env: Environment{Path: []string{"bin"}}, wantErr: CodeBadSearchPath, names: "bin"},
		{name: "empty path entry", env: Environment{Path: []string{""}}, wantErr: CodeBadSearchPath},
		{name: "colon in path", env: Environment{Path: []string{"/a:/b"}}, wantErr: CodeBadSearchPath},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.env.compose("/s")
			if !errors.Is(err, tt.wantErr) || (err == nil) != (tt.wantErr == nil) {
				t.Fatalf("compose = %v, want %v", err, tt.wantErr)
			}
			if err != nil {
				if !strings.Contains(err.Error(), tt.names) {
					t.Errorf("the message %q does not name %q", err, tt.names)
				}
				return
			}
			want := map[string]string{}
			for _, entry := range tt.want {
				name, value, _ := strings.Cut(entry, "=")
				want[name] = value
			}
			have := map[string]string{}
			for _, entry := range got.list {
				name, value, _ := strings.Cut(entry, "=")
				have[name] = value
			}
			if d := cmp.Diff(want, have); d != "" {
				t.Errorf("environment (-want +got):\n%s", d)
			}
			if len(got.list) != len(have) || len(got.names) != len(have) {
				t.Errorf("a variable is there twice: %q", got.list)
			}
			if d := cmp.Diff(tt.withheld, got.withheld); d != "" {
				t.Errorf("withheld (-want +got):\n%s", d)
			}
		})
	}
}

// TestEnvironmentLongest pins the longest entry: the kernel's limit counts the
// final NUL.
func TestEnvironmentLongest(t *testing.T) {
	value := strings.Repeat("x", maxString-len("BIG=")-1)
	if _, err := (Environment{Set: []string{"BIG=" + value}}).compose("/s"); err != nil {
		t.Errorf("the longest entry is refused: %v", err)
	}
	if _, err := (Environment{Set: []string{"BIG=x" + value}}).compose("/s"); !errors.Is(err, CodeEnvTooLong) {
		t.Errorf("one byte more = %v, want %v", err, CodeEnvTooLong)
	}
}

func TestEnvironmentErrorShowsNoValue(t *testing.T) {
	for _, env := range []Environment{
		{Set: []string{"TOKEN=hunter2\x00"}},
		{Set: []string{"TOKEN=hunter2", "TOKEN=hunter2"}},
		{Set: []string{"=hunter2"}},
		{Set: []string{"T=" + strings.Repeat("hunter2", 30000)}},
	} {
		if _, err := env.compose("/s"); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the error is %.100v", err)
		}
	}
}

func TestWithheldName(t *testing.T) {
	for _, name := range []string{
		"API_KEY", "OPENAI_API_KEY", "openai_api_key", "TOKEN", "GITHUB_TOKEN", "GH_TOKEN", "HF_TOKEN", "GITHUBTOKEN",
		"PASSWORD", "DB_PASSWORD", "MYSQL_PWD", "PGPASSWORD", "SECRET", "CLIENT_SECRET", "SECRET_KEY_BASE", "AWS_SECRET_ACCESS_KEY",
		"AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AZURE_CLIENT_ID", "GOOGLE_APPLICATION_CREDENTIALS", "SSH_AUTH_SOCK", "SSH_PRIVATE_KEY",
		"STRIPE_SK_APIKEY", "PRIVATE_KEY", "SIGNING_KEY", "ENCRYPTION_KEYS", "SESSION_COOKIE", "BASIC_AUTH", "NPM_CONFIG__AUTH",
		"VAULT_ADDR", "KUBECONFIG", "DATABASE_URL", "REDIS_URL", "SENTRY_DSN", "UV_INDEX_MAIN_PASSWORD", "X_CREDENTIALS", "TWINE_USERNAME",
		"DOCKER_AUTH_CONFIG", "NETRC", "SERVICE.TOKEN", "some-api-key",
	} {
		if !WithheldName(name) {
			t.Errorf("%s is passed on", name)
		}
	}
	for _, name := range []string{
		"PATH", "HOME", "LANG", "TERM", "EDITOR", "KEYBOARD", "KEYMAP", "TOKENIZERS_PARALLELISM", "PASSENGER_COUNT", "HTTPS_PROXY",
		"PIP_INDEX_URL", "UV_INDEX_URL", "GOPROXY", "GOFLAGS", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "VIRTUAL_ENV", "PYTHONPATH",
		"OMP_NUM_THREADS", "PWD", "OLDPWD", "AUTHOR", "COMPATIBILITY", "", "_",
	} {
		if WithheldName(name) {
			t.Errorf("%s is withheld", name)
		}
	}
}

func FuzzCompose(f *testing.F) {
	f.Add("A=1", "B", "/bin")
	f.Add("=", "", "")
	f.Add("A=\x00", "A=B", "/a:/b")
	f.Fuzz(func(t *testing.T, set, admit, dir string) {
		env := Environment{
			Set: []string{set}, Admit: []string{admit}, Path: []string{dir},
			Lookup: func(string) (string, bool) { return "host", true },
		}
		got, err := env.compose("/s")
		if err != nil {
			if got.list != nil || got.names != nil {
				t.Fatalf("refused with %v, and still %v", err, got)
			}
			return
		}
		seen := map[string]bool{}
		for _, entry := range got.list {
			name, _, ok := strings.Cut(entry, "=")
			if !ok || name == "" || seen[name] || strings.IndexByte(entry, 0) >= 0 || len(entry) >= maxString {
				t.Fatalf("bad entry %q in %q", entry, got.list)
			}
			seen[name] = true
		}
		if WithheldName(admit) && seen[admit] && !strings.HasPrefix(set, admit+"=") && !fixedName(admit) {
			t.Fatalf("%q was passed on", admit)
		}
	})
}

func fixedName(name string) bool {
	for _, entry := range fixedEnv("PATH=") {
		if strings.HasPrefix(entry, name+"=") {
			return true
		}
	}
	return false
}
