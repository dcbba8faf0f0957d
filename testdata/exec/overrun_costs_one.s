//! versions: v0 v1 v2 v3 v4
//! trap: ExecutionOverrun, pc 5, cu 6
//! registers: r0=5
//!
//! versions: v0 v1 v2 v3 v4
//! budget: 6
//! trap: ExecutionOverrun, pc 5, cu 6
//!
//! versions: v0 v1 v2 v3 v4
//! budget: 5
//! trap: ExceededMaxInstructions, pc 5, cu 5
//! registers: r0=5
entrypoint:
.rept 5
    add64 r0, 1
.endr
