package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/provider-measure/provider-measure/internal/testenv"
)

// openTerminal makes a pseudo-terminal: what is written to the terminal is read
// from the controller. width 0 is a terminal that does not know its size.
func openTerminal(t testing.TB, width uint16) (controller, terminal *os.File) {
	t.Helper()
	controller, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		testenv.Skip(t, "pty", err.Error())
	}
	t.Cleanup(func() { controller.Close() })
	var number int
	raw, err := controller.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		if failed = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); failed != nil {
			return
		}
		if number, failed = unix.IoctlGetInt(int(fd), unix.TIOCGPTN); failed != nil {
			return
		}
		if width > 0 {
			failed = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: width})
		}
	})
	if err != nil || failed != nil {
		testenv.Skip(t, "pty", fmt.Sprint(err, failed))
	}
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		testenv.Skip(t, "pty", err.Error())
	}
	return controller, terminal
}

// onTerminal runs the command with standard output, standard error, or both on
// a terminal, and returns what each had.
func (s *sandbox) onTerminal(t testing.TB, width uint16, outToo bool, args ...string) (screen, stdout string, status int) {
	t.Helper()
	controller, terminal := openTerminal(t, width)
	cmd := invocation{args: args, dir: s.dir, env: s.env}.command(t.Context(), t)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, terminal
	if outToo {
		cmd.Stdout = terminal
	}
	read := make(chan string, 1)
	go func() {
		// Reading ends with EIO when the last one has closed the terminal.
		data, _ := io.ReadAll(controller)
		read <- string(data)
	}()
	status = statusOf(t, cmd.Run())
	terminal.Close()
	return <-read, out.String(), status
}

func TestProgress(t *testing.T) {
	for _, width := range []uint16{0, 20, 80, 200} {
		t.Run(fmt.Sprintf("on %d columns", width), func(t *testing.T) {
			s := newSandbox(t, false)
			screen, stdout, status := s.onTerminal(t, width, false, "tool.answer", "--providers", s.tool, "--runs", "120")
			if status != exitGood {
				t.Fatalf("exit status %d: %s", status, screen)
			}
			decoded(t, stdout)
			if strings.ContainsAny(stdout, "\x1b\r") {
				t.Error("standard output has what belongs on the terminal")
			}
			if width >= 80 && !strings.Contains(screen, "cold start") && !strings.Contains(screen, "reproduction") {
				t.Errorf("no progress on the terminal: %q", screen)
			}
			if lines := strings.Count(screen, "\n"); width >= 80 && lines > 40 {
				t.Errorf("the progress fills %d lines: %q", lines, screen)
			}
		})
	}
}

func TestNoProgressInPipe(t *testing.T) {
	s := newSandbox(t, false)
	r := s.call(t, "tool.answer", "--providers", s.tool, "--runs", "60")
	r.want(t, exitGood)
	if r.stderr != "" {
		t.Errorf("standard error: %q", r.stderr)
	}
}

// A terminal gets text, also for errors; --format json is stronger.
func TestTerminalFormat(t *testing.T) {
	s := newSandbox(t, false)
	screen, _, status := s.onTerminal(t, 80, true, "identify", "tool", "--providers", s.tool)
	if status != exitGood || !strings.HasPrefix(screen, "tool  AVAILABLE\r\n") {
		t.Errorf("exit status %d, screen %q", status, screen)
	}
	screen, _, status = s.onTerminal(t, 80, true, "identify", "nobody")
	if status != exitUsage || !strings.HasPrefix(screen, "provider-measure: UNKNOWN_PROVIDER: ") {
		t.Errorf("exit status %d, screen %q", status, screen)
	}
	screen, _, status = s.onTerminal(t, 80, true, "identify", "tool", "--providers", s.tool, "--format", "json")
	if status != exitGood || !strings.HasPrefix(screen, "{\r\n") {
		t.Errorf("exit status %d, screen %q", status, screen)
	}
	// Only standard error is a terminal: the reader of standard output wants JSON.
	_, stdout, status := s.onTerminal(t, 80, false, "identify", "tool", "--providers", s.tool)
	if status != exitGood {
		t.Errorf("exit status %d", status)
	}
	decoded(t, stdout)
	// The result stands alone when the progress is gone.
	screen, _, status = s.onTerminal(t, 80, true, "tool.answer", "--providers", s.tool, "--runs", "60")
	if status != exitGood || !strings.Contains(screen, "tool.answer  Script tool 1.2.3  AVAILABLE\r\n") {
		t.Errorf("exit status %d, screen %q", status, screen)
	}
	s.emptyTmp(t)
}
