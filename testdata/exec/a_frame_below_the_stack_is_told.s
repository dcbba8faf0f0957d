//! versions: v0 v3 v4
//! trap: StackAccessViolation Load 0x1ffffe001 len 1 frame -1, pc 2, cu 2
entrypoint:
    lddw r1, 0x1ffffe001
    ldxb r0, [r1]
    exit
