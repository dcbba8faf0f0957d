//! versions: v0 v1 v2 v3 v4
//! r0: 0xffffffff, cu 3
//! registers: r6=0xffffffffffffffff
entrypoint:
    mov32 r0, -1
    mov64 r6, -1
    exit
