//! versions: v0 v1 v3 v4
//! r0: 0xffffffff, cu 5
//! registers: r6=0xffffffffffffffff
entrypoint:
    mov64 r0, 1
    mov64 r6, 1
    neg32 r0
    neg64 r6
    exit
