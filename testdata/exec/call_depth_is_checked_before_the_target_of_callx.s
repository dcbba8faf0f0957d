//! config: depth=1
//! versions: v0 v1 v2 v3 v4
//! trap: CallDepthExceeded, pc 1, cu 2
//! depth: 1
//! registers: r6=7
entrypoint:
    mov64 r6, 7
    callx r6
    exit
