//! versions: v0 v1 v2
//! unverified
//! verify: UnknownOpcode, code 22, pc 0
//! trap: UnsupportedInstruction, pc 0, cu 1
//! versions: v3 v4
//! r0: 7, cu 3
entrypoint:
    .quad 0x0000000000010016        // jeq32 r0, 0, +1
    exit
    mov64 r0, 7
    exit
