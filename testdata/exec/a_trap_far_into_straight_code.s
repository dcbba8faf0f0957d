//! versions: v0 v1 v3 v4
//! trap: DivideByZero, pc 401, cu 402
//! registers: r0=400
//!
//! versions: v0 v3
//! budget: 401
//! trap: ExceededMaxInstructions, pc 401, cu 401
entrypoint:
    mov64 r1, 0
.rept 400
    add64 r0, 1
.endr
    div64 r0, r1
.rept 400
    add64 r0, 1
.endr
    exit
