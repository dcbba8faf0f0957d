//! versions: v0 v1 v2 v3 v4
//! trap: CallDepthExceeded, pc 1, cu 128
//! registers: r0=64
//! depth: 64
entrypoint:
    add64 r0, 1
    call entrypoint
    exit
