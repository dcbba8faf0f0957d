//! versions: v3 v4
//! trap: StackAccessViolation Store 0x200040000 len 8 frame 64, pc 2, cu 2
//! versions: v0
//! r0: 0, cu 3
entrypoint:
    lddw r1, 0x200040000
    stdw [r1], 1
    exit
