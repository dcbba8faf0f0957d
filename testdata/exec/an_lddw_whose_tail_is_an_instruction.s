//! versions: v0 v1 v3 v4
//! verify: IncompleteLddw, pc 0
entrypoint:
    .quad 0x0000000000000018
    exit
