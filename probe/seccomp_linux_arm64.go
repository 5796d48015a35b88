package probe

import "golang.org/x/sys/unix"

// nativeArch is the processor mode whose system calls the filter understands.
const nativeArch = unix.AUDIT_ARCH_AARCH64

// foreignNumbers is 0: no other mode shares this one's arch.
const foreignNumbers = 0
