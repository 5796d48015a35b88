package probe

import (
	"testing"

	"golang.org/x/sys/unix"
)

func TestTraceeNext(t *testing.T) {
	signal := func(s unix.Signal) event { return event{kind: eventSignal, signal: s} }
	resumed := step{verb: verbResume}
	for _, tt := range []struct {
		name  string
		state traceeState
		ev    event
		want  traceeState
		do    step
	}{
		{name: "first stop", state: embryo, ev: event{kind: eventTrap}, want: running, do: resumed},
		{name: "first stop in a stopped process", state: embryo, ev: event{kind: eventGroupStop, signal: unix.SIGSTOP}, want: halted, do: step{verb: verbListen}},
		{name: "a real SIGSTOP to a new seized task", state: embryo, ev: signal(unix.SIGSTOP), want: running, do: step{signal: unix.SIGSTOP}},
		{name: "signal is delivered", state: running, ev: signal(unix.SIGCHLD), want: running, do: step{signal: unix.SIGCHLD}},
		{name: "a trap of its own is delivered", state: running, ev: signal(unix.SIGTRAP), want: running, do: step{signal: unix.SIGTRAP}},
		{name: "group stop", state: running, ev: event{kind: eventGroupStop, signal: unix.SIGTSTP}, want: halted, do: step{verb: verbListen}},
		{name: "continued", state: halted, ev: event{kind: eventTrap}, want: running, do: resumed},
		{name: "stopped again", state: halted, ev: event{kind: eventGroupStop, signal: unix.SIGSTOP}, want: halted, do: step{verb: verbListen}},
		{name: "signal when continued", state: halted, ev: signal(unix.SIGCONT), want: running, do: step{signal: unix.SIGCONT}},
		{name: "fork", state: running, ev: event{kind: eventFork}, want: running, do: resumed},
		{name: "exec", state: running, ev: event{kind: eventExec}, want: running, do: resumed},
		{name: "exit", state: running, ev: event{kind: eventExit}, want: exiting, do: resumed},
		{name: "exit of a stopped one", state: halted, ev: event{kind: eventExit}, want: exiting, do: resumed},
		{name: "exit of a new one", state: embryo, ev: event{kind: eventExit}, want: exiting, do: resumed},
		{name: "group stop on the way out", state: exiting, ev: event{kind: eventGroupStop, signal: unix.SIGSTOP}, want: exiting, do: resumed},
		{name: "signal on the way out", state: exiting, ev: signal(unix.SIGTERM), want: exiting, do: resumed},
		{name: "trap on the way out", state: exiting, ev: event{kind: eventTrap}, want: exiting, do: resumed},
		{name: "killed at once", state: embryo, ev: event{kind: eventEnded, signal: unix.SIGKILL}, want: gone, do: step{verb: verbNothing}},
		{name: "killed while stopped", state: halted, ev: event{kind: eventEnded, signal: unix.SIGKILL}, want: gone, do: step{verb: verbNothing}},
		{name: "ended", state: exiting, ev: event{kind: eventEnded}, want: gone, do: step{verb: verbNothing}},
		{name: "before an opening", state: running, ev: event{kind: eventFilter}, want: calling, do: step{verb: verbFollow}},
		{name: "before the first opening", state: embryo, ev: event{kind: eventFilter}, want: calling, do: step{verb: verbFollow}},
		{name: "end of an opening", state: calling, ev: event{kind: eventCall}, want: running, do: resumed},
		{name: "an opening made anew", state: calling, ev: event{kind: eventFilter}, want: calling, do: step{verb: verbFollow}},
		{name: "killed in an opening", state: calling, ev: event{kind: eventExit}, want: exiting, do: resumed},
		{name: "killed at once in an opening", state: calling, ev: event{kind: eventEnded, signal: unix.SIGKILL}, want: gone, do: step{verb: verbNothing}},
		{name: "end of a call on the way out", state: exiting, ev: event{kind: eventCall}, want: exiting, do: resumed},
		{name: "before a call on the way out", state: exiting, ev: event{kind: eventFilter}, want: exiting, do: resumed},
		{name: "unknown event", state: running, ev: event{kind: eventOther}, want: running, do: resumed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, do := tt.state.next(tt.ev)
			if got != tt.want || do != tt.do {
				t.Errorf("next = %v, %+v; want %v, %+v", got, do, tt.want, tt.do)
			}
		})
	}
}

func TestDecode(t *testing.T) {
	stop := func(sig unix.Signal, ev uint32) uint32 { return 0x7f | uint32(sig)<<8 | ev<<16 }
	for _, tt := range []struct {
		name   string
		status uint32
		legacy bool
		want   event
	}{
		{"exit 0", 0, false, event{kind: eventEnded}},
		{"exit 255", 255 << 8, false, event{kind: eventEnded, code: 255}},
		{"killed", 9, false, event{kind: eventEnded, signal: unix.SIGKILL}},
		{"core dumped", 0x80 | 11, false, event{kind: eventEnded, signal: unix.SIGSEGV}},
		{"signal", stop(unix.SIGUSR1, 0), false, event{kind: eventSignal, signal: unix.SIGUSR1}},
		{"real-time signal", stop(64, 0), false, event{kind: eventSignal, signal: 64}},
		{"stop signal", stop(unix.SIGSTOP, 0), false, event{kind: eventSignal, signal: unix.SIGSTOP}},
		{"group stop", stop(unix.SIGTTIN, unix.PTRACE_EVENT_STOP), false, event{kind: eventGroupStop, signal: unix.SIGTTIN}},
		{"group stop without seize", stop(unix.SIGSTOP, unix.PTRACE_EVENT_STOP), true, event{kind: eventTrap}},
		{"trap", stop(unix.SIGTRAP, unix.PTRACE_EVENT_STOP), false, event{kind: eventTrap}},
		{"fork", stop(unix.SIGTRAP, unix.PTRACE_EVENT_FORK), false, event{kind: eventFork}},
		{"vfork", stop(unix.SIGTRAP, unix.PTRACE_EVENT_VFORK), false, event{kind: eventFork}},
		{"clone", stop(unix.SIGTRAP, unix.PTRACE_EVENT_CLONE), false, event{kind: eventFork}},
		{"exec", stop(unix.SIGTRAP, unix.PTRACE_EVENT_EXEC), false, event{kind: eventExec}},
		{"exit stop", stop(unix.SIGTRAP, unix.PTRACE_EVENT_EXIT), false, event{kind: eventExit}},
		{"stop by a filter", stop(unix.SIGTRAP, unix.PTRACE_EVENT_SECCOMP), false, event{kind: eventFilter}},
		{"end of a call", stop(unix.SIGTRAP|0x80, 0), false, event{kind: eventCall}},
		{"not asked for", stop(unix.SIGTRAP, unix.PTRACE_EVENT_VFORK_DONE), false, event{kind: eventOther}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := decode(tt.status, !tt.legacy); got != tt.want {
				t.Errorf("decode = %+v, want %+v", got, tt.want)
			}
		})
	}
}
