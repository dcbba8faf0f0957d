//! versions: v0 v1 v2 v3 v4
//! verify: JumpOutOfCode, target 2, pc 0
entrypoint:
    .quad 0x0000000000010005        // ja +1
    exit
