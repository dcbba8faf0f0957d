//! versions: v3 v4
//! r0: 7, cu 3
//! versions: v0 v1
//! trap: AccessViolation Load 0x8 len 8 in unallocated, pc 1, cu 2
entrypoint:
    mov64 r1, -8
    ldxdw r0, [r1 + 16]
    exit
.rodata
    .quad 5, 7
