//! versions: v0 v1 v2 v3 v4
//! r0: 300, cu 301
//!
//! versions: v0 v3
//! budget: 45
//! trap: ExceededMaxInstructions, pc 45, cu 45
//! registers: r0=45
//!
//! versions: v0 v3
//! budget: 46
//! trap: ExceededMaxInstructions, pc 46, cu 46
//! registers: r0=46
//!
//! versions: v0 v3
//! budget: 47
//! trap: ExceededMaxInstructions, pc 47, cu 47
//! registers: r0=47
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
//! trap: ExceededMaxInstructions, pc 255, cu 255
//! registers: r0=255
//!
//! versions: v0 v3
//! budget: 256
//! trap: ExceededMaxInstructions, pc 256, cu 256
//! registers: r0=256
//!
//! versions: v0 v3
//! budget: 257
//! trap: ExceededMaxInstructions, pc 257, cu 257
//! registers: r0=257
//!
//! versions: v0 v3
//! budget: 299
//! trap: ExceededMaxInstructions, pc 299, cu 299
//! registers: r0=299
//!
//! versions: v0 v3
//! budget: 300
//! trap: ExceededMaxInstructions, pc 300, cu 300
//! registers: r0=300
//!
//! versions: v0 v3
//! budget: 301
//! r0: 300, cu 301
entrypoint:
.rept 300
    add64 r0, 1
.endr
    exit
