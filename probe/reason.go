package probe

// reason is an error that is a constant text.
type reason string

func (r reason) Error() string { return string(r) }

const (
	// errTraceRefused is a host that refuses ptrace.
	errTraceRefused = reason("this host refuses ptrace")
	// errSweep is a tree that outlived sweepMost.
	errSweep = reason("descendants were still found alive after every attempt to kill them")
	// errSeizedAwake is a child that did not stand still while it was seized.
	errSeizedAwake = reason("the program was continued from outside while tracing was being set up")
	// errNotRegular is a program that is a device, FIFO, socket or directory.
	errNotRegular = reason("it is not a regular file")
	// errNoTaskIO is a kernel built without CONFIG_TASK_IO_ACCOUNTING.
	errNoTaskIO = reason("this kernel does not count what a task reads and writes")
	// errUnseenEnd is a process of which the end was seen and not the exit stop.
	errUnseenEnd = reason("a process ended before what it had read and written could be looked at")
	// errUnreadable is a program that may be executed and not read, whose
	// processes the kernel lets only privileged ones look into.
	errUnreadable = reason("this host refuses ptrace of a program that may not be read")
)
