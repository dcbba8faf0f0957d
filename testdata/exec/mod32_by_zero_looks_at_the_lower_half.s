//! versions: v0 v1 v3 v4
//! trap: DivideByZero, pc 3, cu 3
//! registers: r0=7
entrypoint:
    lddw r1, 0x100000000
    mov64 r0, 7
    mod32 r0, r1
    exit
