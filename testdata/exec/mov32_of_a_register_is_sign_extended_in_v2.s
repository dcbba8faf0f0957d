//! versions: v0 v1 v3 v4
//! r0: 0x80000000, cu 3
//! versions: v2
//! r0: 0xffffffff80000000, cu 3
entrypoint:
    mov32 r1, 0x80000000
    mov32 r0, r1
    exit
