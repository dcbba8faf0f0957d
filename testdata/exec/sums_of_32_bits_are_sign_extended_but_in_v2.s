//! versions: v0 v1 v3 v4
//! r0: 0xffffffff80000000, cu 7
//! registers: r6=0xffffffffffffffff r7=0xffffffff80000000
//! versions: v2
//! r0: 0x80000000, cu 7
//! registers: r6=0xffffffff r7=0x80000000
entrypoint:
    mov32 r0, 0x7fffffff
    mov32 r7, 0x7fffffff
    mov64 r1, 1
    add32 r0, 1
    add32 r7, r1
    sub32 r6, r1
    exit
