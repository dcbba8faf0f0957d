//! versions: v0 v1 v3 v4
//! r0: 0xfffffffffffffff9, cu 5
//! registers: r6=0xfffffffffffffff9
//! versions: v2
//! r0: 7, cu 5
//! registers: r6=7
entrypoint:
    mov64 r0, 3
    mov64 r6, 3
    sub64 r0, 10
    sub32 r6, 10
    exit
