//! versions: v0 v1 v2 v3 v4
//! unverified
//! verify: UnknownOpcode, code 255, pc 2
//! trap: UnsupportedInstruction, pc 2, cu 3
//! registers: r0=3
//!
//! versions: v0 v3
//! unverified
//! budget: 2
//! trap: ExceededMaxInstructions, pc 2, cu 2
entrypoint:
    add64 r0, 1
    add64 r0, 2
    .quad 0x00000000000000ff
    exit
