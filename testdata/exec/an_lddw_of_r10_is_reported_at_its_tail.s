// The validator has moved on to the second slot by the time it looks at registers.
//! versions: v0 v1 v3 v4
//! verify: CannotWriteR10, pc 2
entrypoint:
    mov64 r0, 1
    .quad 0x0000000100000a18
    .quad 0
    exit
