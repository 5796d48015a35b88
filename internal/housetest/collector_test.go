package housetest

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/provider-measure/provider-measure/internal/testenv"
)

// The judge of CI's test runs is what makes a silent skip or an empty run fail,
// so it is tested like any other guard.
func TestJudgeOfRuns(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		testenv.Skip(t, "python", "no python3 on PATH")
	}
	event := func(action, test, output string) string {
		return `{"Action":"` + action + `","Package":"` + module + `/digest","Test":"` + test + `","Output":"` + output + `"}` + "\n"
	}
	end := func(action string) string {
		return `{"Action":"` + action + `","Package":"` + module + `/digest"}` + "\n"
	}
	skipped := func(test, line string) string {
		return event("output", test, "    a_test.go:1: "+line+`\n`) + event("skip", test, "")
	}
	passed := event("pass", "TestA", "") + end("pass")
	approved := "# words\n\ndigest.TestRoot root needs mknod\ndigest.TestRoot mknod forbidden\ndigest.TestDisk sparse no such files\n"
	tests := []struct {
		name   string
		runs   []string
		failed string // a stage
		want   string // the last line
		exit   int
	}{
		{"passed", []string{passed}, "", "1 passed, 0 failed, 0 skipped", 0},
		{"failed", []string{passed + event("fail", "TestB", "") + end("fail")}, "", "1 passed, 1 failed, 0 skipped", 1},
		{"a stage failed", []string{passed}, "check", "1 passed, 1 failed, 0 skipped", 1},
		{"no run", nil, "check", "0 passed, 1 failed, 0 skipped", 1},
		{"empty run", []string{""}, "", "0 passed, 1 failed, 0 skipped", 1},
		{"one empty run of two", []string{passed, end("pass")}, "", "1 passed, 1 failed, 0 skipped", 1},
		{"no tests in a package", []string{passed + `{"Action":"output","Package":"` + module + `/probe","Output":"testing: warning: no tests to run\n"}` + "\n"}, "", "1 passed, 1 failed, 0 skipped", 1},
		{"panicked", []string{passed + `{"Action":"fail","Package":"` + module + `/probe"}` + "\n"}, "", "1 passed, 1 failed, 0 skipped", 1},
		{"words among events", []string{"go: downloading x\n{not json\n" + passed}, "", "1 passed, 0 failed, 0 skipped", 0},
		{"approved skip", []string{passed + skipped("TestDisk", "SKIP[sparse] none here")}, "", "1 passed, 0 failed, 1 skipped", 0},
		{"unknown skip", []string{passed + skipped("TestNew", "SKIP[sparse] none here")}, "", "1 passed, 1 failed, 1 skipped", 1},
		{"another bucket", []string{passed + skipped("TestDisk", "SKIP[network] none here")}, "", "1 passed, 1 failed, 1 skipped", 1},
		{"untyped skip", []string{passed + skipped("TestDisk", "none here")}, "", "1 passed, 1 failed, 1 skipped", 1},
		{"passed as the other user", []string{passed + skipped("TestRoot", "SKIP[root] x"), event("pass", "TestRoot", "")}, "", "2 passed, 0 failed, 1 skipped", 0},
		{"the other user lacks something else", []string{passed + skipped("TestRoot", "SKIP[root] x"), skipped("TestRoot", "SKIP[mknod] x")}, "", "1 passed, 0 failed, 2 skipped", 0},
		{"skipped as both users", []string{passed + skipped("TestRoot", "SKIP[root] x"), skipped("TestRoot", "SKIP[root] x")}, "", "1 passed, 2 failed, 2 skipped", 1},
	}
	ci := filepath.Join(testenv.RepoRoot(t), ".ci", "tests")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			script, err := os.ReadFile(ci)
			if err != nil {
				t.Fatal(err)
			}
			put(t, filepath.Join(dir, "tests"), string(script))
			put(t, filepath.Join(dir, "approved-skips"), approved)
			args := []string{filepath.Join(dir, "tests"), "judge"}
			if tt.failed != "" {
				args = append(args, "--failed", tt.failed)
			}
			for i, run := range tt.runs {
				file := filepath.Join(dir, string(rune('a'+i))+".json")
				put(t, file, run)
				args = append(args, file)
			}
			var out bytes.Buffer
			cmd := exec.CommandContext(t.Context(), python, args...)
			cmd.Stdout, cmd.Stderr = &out, &out
			err = cmd.Run()
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimSpace(out.String()), "\n")
			if got := lines[len(lines)-1]; got != tt.want || cmd.ProcessState.ExitCode() != tt.exit {
				t.Errorf("exit %d, want %d; want the last line %q in\n%s", cmd.ProcessState.ExitCode(), tt.exit, tt.want, out.String())
			}
		})
	}
}

func put(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
