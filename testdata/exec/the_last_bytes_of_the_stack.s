//! versions: v0
//! trap: StackAccessViolation Load 0x20003fffc len 8 frame 63, pc 2, cu 2
//! versions: v3
//! trap: StackAccessViolation Load 0x20003fffc len 8 frame 63, pc 2, cu 2
//! versions: v1
//! trap: AccessViolation Load 0x20003fffc len 8 in stack, pc 2, cu 2
entrypoint:
    lddw r1, 0x20003fffc
    ldxdw r0, [r1]
    exit
