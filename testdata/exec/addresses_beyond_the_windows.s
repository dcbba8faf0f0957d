//! versions: v0 v1 v3 v4
//! trap: AccessViolation Load 0xffffffffffffffff len 1 in unallocated, pc 1, cu 2
entrypoint:
    mov64 r1, -1
    ldxb r0, [r1]
    exit
