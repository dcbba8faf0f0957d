//! versions: v0 v1 v2 v3 v4
//! trap: ExecutionOverrun, pc 2, cu 3
entrypoint:
    mov64 r0, 1
    jeq r0, 0, entrypoint
