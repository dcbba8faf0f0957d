//! versions: v0 v1 v3 v4
//! trap: AccessViolation Load 0x500000000 len 8 in unallocated, pc 3, cu 3
//! registers: r0=7 r1=0x500000000
entrypoint:
    mov64 r0, 7
    lddw r1, 0x500000000
    ldxdw r0, [r1]
    exit
