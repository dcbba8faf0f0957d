//! versions: v0 v1
//! r0: 24, cu 3
//! versions: v2
//! r0: 180, cu 4
//! versions: v3 v4
//! trap: AccessViolation Load 0x100000000 len 1 in unallocated, pc 2, cu 2
entrypoint:
    lddw r1, entrypoint
    ldxb r0, [r1]
    exit
