//! versions: v0 v1 v2 v3 v4
//! trap: Syscall(as asked), pc 1, cu 2
//! registers: r0=7
//! depth: 0
.syscall fail
entrypoint:
    mov64 r0, 7
    call fail
    exit
