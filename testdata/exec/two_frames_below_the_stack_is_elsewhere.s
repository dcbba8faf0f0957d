//! versions: v0 v3 v4
//! trap: AccessViolation Store 0x1ffffe000 len 2 in unallocated, pc 2, cu 2
entrypoint:
    lddw r1, 0x1ffffe000
    sth [r1], 1
    exit
