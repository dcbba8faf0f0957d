//! heap: 8
//! versions: v0 v1 v3 v4
//! budget: 3
//! trap: ExceededMaxInstructions, pc 4, cu 3
//! memory: 0x300000000 = 2a00000000000000
//!
//! versions: v0 v1 v3 v4
//! budget: 2
//! trap: ExceededMaxInstructions, pc 3, cu 2
//! memory: 0x300000000 = 0000000000000000
entrypoint:
    lddw r1, 0x300000000
    mov64 r2, 42
    stxdw [r1], r2
    exit
