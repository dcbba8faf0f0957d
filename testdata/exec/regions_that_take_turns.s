//! config: aligned=off
//! region: 0x400000000 rw 01*8
//! region: 0x400000008 r 02*8
//! region: 0x400000010 rw 03*8
//! versions: v0 v1 v2 v3
//! trap: AccessViolation Store 0x400000008 len 1 in input, pc 10, cu 137
//! registers: r0=90
//! memory: 0x400000010 = 5a03030303030303
entrypoint:
    mov64 r2, 15
loop:
    ldxb r3, [r1]
    add64 r0, r3
    ldxb r3, [r1 + 15]
    add64 r0, r3
    ldxb r3, [r1 + 23]
    add64 r0, r3
    stxb [r1 + 16], r0
    add64 r2, -1
    jne r2, 0, loop
    stb [r1 + 8], 1
    exit
