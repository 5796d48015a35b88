package probe

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestScriptInterpreter(t *testing.T) {
	for _, tt := range []struct{ name, head, want string }{
		{"plain", "#!/bin/sh\necho\n", "/bin/sh"},
		{"argument", "#!/usr/bin/env python3 -x\n", "/usr/bin/env"},
		{"blanks", "#! \t /bin/sh\t-e\n", "/bin/sh"},
		{"carriage return", "#!/bin/sh\r\n", "/bin/sh\r"},
		{"no line end", "#!/bin/sh", "/bin/sh"},
		{"NUL", "#!/bin/sh\x00x\n", "/bin/sh"},
		{"nothing", "#!\n/bin/sh\n", ""},
		{"no script", "echo #!/bin/sh", ""},
		{"empty", "", ""},
		{"only hash", "#", ""},
		{"beyond the kernel's view", "#!" + strings.Repeat(" ", 300) + "/bin/sh\n", ""},
	} {
		if got := scriptInterpreter([]byte(tt.head)); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestInterpreterOf(t *testing.T) {
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/x/y z\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := interpreterOf(script); got != "/x/y" {
		t.Errorf("interpreter of a script is %q", got)
	}
	if got := interpreterOf(filepath.Join(t.TempDir(), "none")); got != "" {
		t.Errorf("interpreter of nothing is %q", got)
	}
}

func FuzzScriptInterpreter(f *testing.F) {
	for _, seed := range []string{"#!/bin/sh\n", "#! /usr/bin/env x\n", "#!", "", "\x7fELF", "#!/a\x00b c"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, head []byte) {
		got := scriptInterpreter(head)
		if strings.ContainsAny(got, " \t\n\x00") || len(got) > shebangSize {
			t.Fatalf("interpreter of %q is %q", head, got)
		}
		if got != "" && !strings.HasPrefix(string(head), "#!") {
			t.Fatalf("%q is no script and has the interpreter %q", head, got)
		}
		// Writing it back gives the same.
		if got != "" && scriptInterpreter([]byte("#!"+got+"\n")) != got {
			t.Fatalf("%q does not come back", got)
		}
	})
}
