package probe

import "golang.org/x/sys/unix"

// nativeArch is the processor mode whose system calls the filter understands.
const nativeArch = unix.AUDIT_ARCH_X86_64

// foreignNumbers is the first number of the x32 mode, which has the same arch.
const foreignNumbers = 0x40000000
