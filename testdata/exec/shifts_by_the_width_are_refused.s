//! versions: v0 v1 v2 v3 v4
//! verify: ShiftWithOverflow, shift 32, bits 32, pc 0
entrypoint:
    .quad 0x0000002000000064        // lsh32 r0, 32
    exit
