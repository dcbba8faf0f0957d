//! versions: v0 v1 v2 v3 v4
//! unverified
//! verify: UnknownOpcode, code 0, pc 0
//! trap: UnsupportedInstruction, pc 0, cu 1
entrypoint:
    .quad 0
    exit
