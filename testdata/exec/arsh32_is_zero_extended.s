//! versions: v0 v1 v2 v3 v4
//! r0: 0xffffffff, cu 5
//! registers: r6=0xffffffffffffffff
entrypoint:
    mov64 r0, -2
    mov64 r6, -2
    arsh32 r0, 1
    arsh64 r6, 1
    exit
