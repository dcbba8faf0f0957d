//! versions: v3 v4
//! r0: 7, cu 2
//! versions: v0 v1 v2
//! trap: AccessViolation Load 0x8 len 8 in unallocated, pc 0, cu 1
entrypoint:
    ldxdw r0, [r2 + 8]
    exit
.rodata
    .quad 5, 7
