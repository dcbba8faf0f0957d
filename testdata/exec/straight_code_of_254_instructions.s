//! versions: v0 v1 v2 v3 v4
//! r0: 254, cu 255
//!
//! versions: v0 v3
//! budget: 253
//! trap: ExceededMaxInstructions, pc 253, cu 253
//! registers: r0=253
//!
//! versions: v0 v3
//! budget: 254
//! trap: ExceededMaxInstructions, pc 254, cu 254
//! registers: r0=254
//!
//! versions: v0 v3
//! budget: 255
//! r0: 254, cu 255
entrypoint:
.rept 254
    add64 r0, 1
.endr
    exit
