//! versions: v0 v1 v2 v3 v4
//! r0: 5000, cu 5001
//!
//! versions: v0 v3
//! budget: 254
//! trap: ExceededMaxInstructions, pc 254, cu 254
//! registers: r0=254
//!
//! versions: v0 v3
//! budget: 255
//! trap: ExceededMaxInstructions, pc 255, cu 255
//! registers: r0=255
//!
//! versions: v0 v3
//! budget: 2039
//! trap: ExceededMaxInstructions, pc 2039, cu 2039
//! registers: r0=2039
//!
//! versions: v0 v3
//! budget: 2047
//! trap: ExceededMaxInstructions, pc 2047, cu 2047
//! registers: r0=2047
//!
//! versions: v0 v3
//! budget: 2048
//! trap: ExceededMaxInstructions, pc 2048, cu 2048
//! registers: r0=2048
//!
//! versions: v0 v3
//! budget: 2049
//! trap: ExceededMaxInstructions, pc 2049, cu 2049
//! registers: r0=2049
//!
//! versions: v0 v3
//! budget: 4095
//! trap: ExceededMaxInstructions, pc 4095, cu 4095
//! registers: r0=4095
//!
//! versions: v0 v3
//! budget: 4096
//! trap: ExceededMaxInstructions, pc 4096, cu 4096
//! registers: r0=4096
//!
//! versions: v0 v3
//! budget: 4097
//! trap: ExceededMaxInstructions, pc 4097, cu 4097
//! registers: r0=4097
//!
//! versions: v0 v3
//! budget: 4999
//! trap: ExceededMaxInstructions, pc 4999, cu 4999
//! registers: r0=4999
//!
//! versions: v0 v3
//! budget: 5000
//! trap: ExceededMaxInstructions, pc 5000, cu 5000
//! registers: r0=5000
//!
//! versions: v0 v3
//! budget: 5001
//! r0: 5000, cu 5001
entrypoint:
.rept 5000
    add64 r0, 1
.endr
    exit
