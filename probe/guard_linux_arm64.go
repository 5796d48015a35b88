package probe

import "golang.org/x/sys/unix"

// linkCalls are the system calls of this processor that read a symbolic link.
func linkCalls() []uint32 { return []uint32{unix.SYS_READLINKAT} }
