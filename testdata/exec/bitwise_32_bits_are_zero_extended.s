//! versions: v0 v1 v2 v3 v4
//! r0: 0xffffffff, cu 11
//! registers: r6=0xffffffff r7=0xffffffff r8=0xffffffff r9=0xffffffff
entrypoint:
    mov64 r0, -1
    mov64 r6, -1
    mov64 r7, -1
    mov64 r8, -1
    mov64 r9, -1
    or32 r0, 0
    and32 r6, -1
    xor32 r7, 0
    lsh32 r8, 0
    rsh32 r9, 0
    exit
