//! versions: v0 v1 v3 v4
//! unverified
//! verify: JumpToMiddleOfLddw, target 2, pc 0
//! trap: UnsupportedInstruction, pc 2, cu 2
entrypoint:
    .quad 0x0000000000010005        // ja +1
    lddw r0, 1
    exit
