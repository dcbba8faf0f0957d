//! versions: v0 v1
//! trap: Syscall(AccessViolation Store 0x100000000 len 4 in program), pc 3, cu 3
//! versions: v3 v4
//! trap: Syscall(AccessViolation Store 0x100000000 len 4 in unallocated), pc 3, cu 3
.syscall fill
entrypoint:
    lddw r1, 0x100000000
    mov64 r2, 4
    call fill
    exit
