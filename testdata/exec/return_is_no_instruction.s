//! versions: v0 v1 v3 v4
//! verify: UnknownOpcode, code 157, pc 0
entrypoint:
    .quad 0x000000000000009d
    exit
