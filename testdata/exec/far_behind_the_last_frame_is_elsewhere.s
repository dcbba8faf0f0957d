// The gaps of V0 make the stack twice as long, so that slots above 64 still are stack.
//! versions: v0
//! trap: AccessViolation Store 0x200041000 len 8 in stack, pc 2, cu 2
//! versions: v3 v4
//! trap: AccessViolation Store 0x200041000 len 8 in unallocated, pc 2, cu 2
entrypoint:
    lddw r1, 0x200041000
    stdw [r1], 1
    exit
