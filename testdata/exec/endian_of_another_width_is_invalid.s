//! versions: v0 v1 v2 v3 v4
//! unverified
//! verify: UnsupportedEndianArgument, pc 1
//! trap: InvalidInstruction, pc 1, cu 2
entrypoint:
    mov64 r0, 258
    .quad 0x00000008000000dc        // be8 r0
    exit
