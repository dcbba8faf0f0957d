//! versions: v0 v1
//! trap: AccessViolation Store 0x100000001 len 1 in program, pc 2, cu 2
entrypoint:
    lddw r1, 0x100000001
    stb [r1], 1
    exit
