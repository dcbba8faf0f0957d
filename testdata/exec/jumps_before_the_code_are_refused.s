//! versions: v0 v1 v2 v3 v4
//! verify: JumpOutOfCode, target 18446744073709551615, pc 0
entrypoint:
    .quad 0x00000000fffe0005        // ja -2
    exit
