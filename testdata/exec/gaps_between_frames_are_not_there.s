//! versions: v0
//! trap: StackAccessViolation Load 0x200001000 len 1 frame 1, pc 0, cu 1
//! versions: v0
//! config: gaps=off
//! r0: 0, cu 2
//! versions: v3 v4
//! r0: 0, cu 2
//! versions: v1 v2
//! trap: AccessViolation Load 0x200040000 len 1 in unallocated, pc 0, cu 1
entrypoint:
    ldxb r0, [r10]
    exit
