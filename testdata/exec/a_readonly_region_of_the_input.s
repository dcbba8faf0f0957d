//! region: 0x400000000 r 01*8
//! versions: v0 v1 v2 v3 v4
//! trap: AccessViolation Store 0x400000000 len 8 in input, pc 1, cu 2
//! registers: r6=0x101010101010101
entrypoint:
    ldxdw r6, [r1]
    stdw [r1], 0
    exit
