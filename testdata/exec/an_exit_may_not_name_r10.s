//! versions: v0 v1 v2 v3 v4
//! verify: CannotWriteR10, pc 0
entrypoint:
    .quad 0x0000000000000a95
