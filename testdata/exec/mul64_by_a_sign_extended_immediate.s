//! versions: v0 v1 v3 v4
//! r0: 0xfffffffffffffffa, cu 3
entrypoint:
    mov64 r0, 3
    mul64 r0, -2
    exit
