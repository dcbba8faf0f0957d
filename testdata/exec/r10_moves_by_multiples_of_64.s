//! versions: v1 v2
//! verify: UnalignedImmediate, pc 0
//! versions: v0 v3 v4
//! verify: CannotWriteR10, pc 0
entrypoint:
    .quad 0x0000000100000a07        // add64 r10, 1
    exit
