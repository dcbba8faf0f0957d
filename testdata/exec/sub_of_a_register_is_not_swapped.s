//! versions: v0 v1 v2 v3 v4
//! r0: 0xfffffffffffffff9, cu 4
entrypoint:
    mov64 r0, 3
    mov64 r1, 10
    sub64 r0, r1
    exit
