//! versions: v0 v1 v2 v3 v4
//! config: depth=1
//! trap: UnsupportedInstruction, pc 1, cu 2
//! depth: 0
.syscall nobody
entrypoint:
    mov64 r0, 1
    call nobody
    exit
