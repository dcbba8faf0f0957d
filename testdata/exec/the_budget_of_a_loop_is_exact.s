//! versions: v0 v1 v2 v3 v4
//! r0: 3000, cu 9002
//!
//! versions: v0 v1 v2 v3 v4
//! budget: 9001
//! trap: ExceededMaxInstructions, pc 4, cu 9001
//! registers: r0=3000
//!
//! versions: v0 v1 v2 v3 v4
//! budget: 2047
//! trap: ExceededMaxInstructions, pc 1, cu 2047
//! registers: r0=682
//!
//! versions: v0 v1 v2 v3 v4
//! budget: 2048
//! trap: ExceededMaxInstructions, pc 2, cu 2048
//! registers: r0=683
//!
//! versions: v0 v1 v2 v3 v4
//! budget: 2049
//! trap: ExceededMaxInstructions, pc 3, cu 2049
//! registers: r0=683
entrypoint:
    mov64 r1, 3000
loop:
    add64 r0, 1
    add64 r1, -1
    jne r1, 0, loop
    exit
