//! versions: v0 v3 v4
//! trap: StackAccessViolation Load 0x1ffffffff len 1 frame 0, pc 2, cu 2
//! versions: v1
//! trap: AccessViolation Load 0x1ffffffff len 1 in unallocated, pc 2, cu 2
//! versions: v2
//! trap: AccessViolation Load 0x1ffffffff len 1 in unallocated, pc 2, cu 3
entrypoint:
    lddw r1, 0x1ffffffff
    ldxb r0, [r1]
    exit
