//! versions: v0 v1 v2 v3 v4
//! verify: ShiftWithOverflow, shift 64, bits 64, pc 0
entrypoint:
    .quad 0x0000004000000a67        // lsh64 r10, 64
    exit
