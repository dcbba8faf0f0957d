//! versions: v0 v1 v3 v4
//! trap: DivideByZero, pc 2, cu 3
//! registers: r0=7
entrypoint:
    mov64 r0, 7
    mov64 r1, 0
    div64 r0, r1
    exit
