//! versions: v0 v1 v3 v4
//! budget: 2
//! trap: ExceededMaxInstructions, pc 2, cu 2
//! versions: v0 v1 v3 v4
//! budget: 3
//! trap: DivideByZero, pc 2, cu 3
entrypoint:
    mov64 r0, 1
    mov64 r1, 0
    mod64 r0, r1
    exit
