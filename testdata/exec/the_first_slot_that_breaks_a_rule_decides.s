//! versions: v0 v1 v2 v3 v4
//! verify: CannotWriteR10, pc 0
entrypoint:
    .quad 0x0000000100000ab7        // mov64 r10, 1
    .quad 0x00000000000000ff
    exit
