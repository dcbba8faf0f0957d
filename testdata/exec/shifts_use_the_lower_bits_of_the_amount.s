//! versions: v0 v1 v2 v3 v4
//! r0: 2, cu 11
//! registers: r6=2 r7=0x7fffffff r8=0xffffffff
entrypoint:
    mov64 r1, 33
    mov64 r2, 65
    mov64 r0, 1
    mov64 r6, 1
    mov64 r7, -1
    mov64 r8, -1
    lsh32 r0, r1
    lsh64 r6, r2
    rsh32 r7, r1
    arsh32 r8, r1
    exit
