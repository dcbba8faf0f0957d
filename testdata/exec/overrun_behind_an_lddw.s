//! versions: v0 v1 v3 v4
//! trap: ExecutionOverrun, pc 2, cu 2
//! registers: r0=5
//! versions: v0 v1 v3 v4
//! budget: 1
//! trap: ExceededMaxInstructions, pc 2, cu 1
entrypoint:
    lddw r0, 5
