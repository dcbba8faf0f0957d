//! versions: v0 v3 v4
//! verify: CannotWriteR10, pc 0
//! versions: v1 v2
//! r0: 0, cu 2
//! registers: r10=0x20003ffc0
entrypoint:
    .quad 0xffffffc000000a07        // add64 r10, -64
    exit
