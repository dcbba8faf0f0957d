//! versions: v0 v1 v3 v4
//! r0: 0xffffffff80000000, cu 6
//! registers: r6=0xffffffff80000000
entrypoint:
    mov64 r0, 0x40000000
    mov64 r6, 0x40000000
    mov64 r1, 2
    mul32 r0, 2
    mul32 r6, r1
    exit
