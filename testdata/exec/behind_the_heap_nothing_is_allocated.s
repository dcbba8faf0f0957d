//! heap: 16
//! versions: v0 v1 v3 v4
//! trap: AccessViolation Store 0x300000010 len 1 in unallocated, pc 2, cu 2
entrypoint:
    lddw r1, 0x300000000
    stb [r1 + 16], 42
    exit
