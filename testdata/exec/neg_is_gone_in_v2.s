//! versions: v2
//! unverified
//! verify: UnknownOpcode, code 132, pc 1
//! trap: UnsupportedInstruction, pc 1, cu 2
//! registers: r0=1
entrypoint:
    mov64 r0, 1
    .quad 0x0000000000000084        // neg32 r0
    exit
