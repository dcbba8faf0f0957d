//! versions: v0 v1 v2 v3 v4
//! budget: 0
//! trap: ExceededMaxInstructions, pc 0, cu 0
//! registers: r0=0
//!
//! versions: v0 v1 v2 v3 v4
//! budget: 1
//! trap: ExceededMaxInstructions, pc 1, cu 1
//! registers: r0=1
//!
//! versions: v0 v1 v2 v3 v4
//! budget: 3
//! trap: ExceededMaxInstructions, pc 3, cu 3
//! registers: r0=7
//!
//! versions: v0 v1 v2 v3 v4
//! budget: 4
//! r0: 7, cu 4
//! pc: 3
//!
//! versions: v0 v1 v2 v3 v4
//! budget: 5
//! r0: 7, cu 4
entrypoint:
    add64 r0, 1
    add64 r0, 2
    add64 r0, 4
    exit
