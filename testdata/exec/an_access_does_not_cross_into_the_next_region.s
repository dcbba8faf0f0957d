//! config: aligned=off
//! region: 0x400000000 rw 01*8
//! region: 0x400000008 rw 02*8
//! versions: v0 v1 v2 v3
//! trap: AccessViolation Load 0x400000004 len 8 in input, pc 2, cu 3
//! registers: r6=0x101010101010101 r7=0x202020202020202
entrypoint:
    ldxdw r6, [r1]
    ldxdw r7, [r1 + 8]
    ldxdw r0, [r1 + 4]
    exit
