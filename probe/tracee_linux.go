package probe

import (
	"golang.org/x/sys/unix"
)

// A tracee is one task (a process or a thread of one) under the tracer. Its
// state changes only by events, which are what wait4(2) reports:
//
//	           first stop                     group stop
//	embryo ------------------> running ---------------------> halted
//	  |                         ^  |  \                         |  |
//	  |                         |  |   \    trap (SIGCONT)      |  |
//	  |                         |  +--- <-----------------------+  |
//	  |         signal, fork,   |  |                               |
//	  |         exec, trap -----+  | exit stop                     | exit stop
//	  |                            v                               |
//	  +-------------------------> exiting <------------------------+
//	     exit stop                 |
//	                               v ended
//	                              gone
//
// An embryo is known and has not stopped yet: its parent's event came first.
// halted is a group stop, in which the task is listened to and not resumed, so
// that a SIGCONT from anyone continues it as it would untraced. Any state goes
// to gone when the task's end is reported, since SIGKILL skips every stop.
//
// In a run whose files are observed there is one more state, between the two
// stops that the kernel makes around an opening. Nothing can come in between but
// the task's own end:
//
//	running -- stop by the filter, before an opening --> calling
//	running <-- stop at the end of the opening --------- calling
//
// An opening that a signal interrupts ends first, with a result that no program
// sees; then comes the signal's stop, and then the opening anew, with both stops.
type traceeState uint8

const (
	embryo traceeState = iota
	running
	halted
	calling
	exiting
	gone
)

// eventKind is one kind of report about a tracee.
type eventKind uint8

const (
	eventSignal    eventKind = iota // stopped before a signal is delivered
	eventGroupStop                  // stopped with its whole process by job control
	eventTrap                       // a stop without a cause of its own: first stop, or SIGCONT after a group stop
	eventFork                       // made a new task
	eventExec                       // executed another image, of which nothing has run
	eventExit                       // about to end, its memory still there
	eventFilter                     // stopped by a seccomp filter before a system call
	eventCall                       // at the end of a system call that was followed
	eventOther                      // an event that was not asked for
	eventEnded                      // ended
)

// event is one report about a tracee.
type event struct {
	kind   eventKind
	signal unix.Signal // of a signal or group stop, or that ended the task
	code   int         // exit code of an ended task
}

// verb is what is done to a tracee after an event.
type verb uint8

const (
	verbResume  verb = iota // continue, delivering the signal if there is one
	verbListen              // leave it in its group stop
	verbFollow              // continue to the end of the system call
	verbNothing             // it is gone
)

// step is a verb and the signal that goes with verbResume.
type step struct {
	verb   verb
	signal unix.Signal
}

// decode turns a wait status into an event. seized says that the task is under
// PTRACE_SEIZE, as all are but the program before it is seized; there the kernel
// tells group stops apart from signals.
func decode(status uint32, seized bool) event {
	low := status & 0x7f
	switch {
	case low == 0:
		return event{kind: eventEnded, code: int(status>>8) & 0xff}
	case status&0xff != 0x7f:
		return event{kind: eventEnded, signal: unix.Signal(low)}
	}
	sig := unix.Signal(status >> 8 & 0xff)
	switch status >> 16 {
	case 0:
		if sig == callStop {
			return event{kind: eventCall}
		}
		return event{kind: eventSignal, signal: sig}
	case unix.PTRACE_EVENT_STOP:
		if seized && isStopSignal(sig) {
			return event{kind: eventGroupStop, signal: sig}
		}
		return event{kind: eventTrap}
	case unix.PTRACE_EVENT_FORK, unix.PTRACE_EVENT_VFORK, unix.PTRACE_EVENT_CLONE:
		return event{kind: eventFork}
	case unix.PTRACE_EVENT_EXEC:
		return event{kind: eventExec}
	case unix.PTRACE_EVENT_EXIT:
		return event{kind: eventExit}
	case unix.PTRACE_EVENT_SECCOMP:
		return event{kind: eventFilter}
	}
	return event{kind: eventOther}
}

// callStop is the signal of a stop around a system call (PTRACE_O_TRACESYSGOOD).
const callStop = unix.SIGTRAP | 0x80

// isStopSignal reports whether sig stops a process by default.
func isStopSignal(sig unix.Signal) bool {
	return sig == unix.SIGSTOP || sig == unix.SIGTSTP || sig == unix.SIGTTIN || sig == unix.SIGTTOU
}

// next returns the state after ev and what is to be done.
func (s traceeState) next(ev event) (traceeState, step) {
	switch {
	case ev.kind == eventEnded:
		return gone, step{verb: verbNothing}
	case ev.kind == eventExit || s == exiting:
		return exiting, step{verb: verbResume}
	case ev.kind == eventGroupStop:
		return halted, step{verb: verbListen}
	case ev.kind == eventFilter:
		return calling, step{verb: verbFollow}
	case ev.kind == eventSignal:
		return running, step{verb: verbResume, signal: ev.signal}
	}
	return running, step{verb: verbResume}
}
