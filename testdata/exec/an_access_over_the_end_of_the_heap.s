//! heap: 16
//! versions: v0 v1 v3 v4
//! trap: AccessViolation Load 0x300000009 len 8 in heap, pc 4, cu 4
//! registers: r6=42
//! memory: 0x300000008 = 2a00000000000000
entrypoint:
    lddw r1, 0x300000000
    stdw [r1 + 8], 42
    ldxdw r6, [r1 + 8]
    ldxdw r0, [r1 + 9]
    exit
