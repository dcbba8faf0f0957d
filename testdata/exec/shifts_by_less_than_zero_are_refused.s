//! versions: v0 v1 v2 v3 v4
//! verify: ShiftWithOverflow, shift 18446744073709551615, bits 64, pc 0
entrypoint:
    .quad 0xffffffff000000c7        // arsh64 r0, -1
    exit
