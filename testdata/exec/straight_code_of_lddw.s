//! versions: v0 v1 v3 v4
//! r0: 300, cu 301
//!
//! versions: v0 v3
//! budget: 300
//! trap: ExceededMaxInstructions, pc 600, cu 300
//!
//! versions: v0 v3
//! budget: 46
//! trap: ExceededMaxInstructions, pc 92, cu 46
//! registers: r0=46
.set value, 0
entrypoint:
.rept 300
.set value, value + 1
    lddw r0, value
.endr
    exit
