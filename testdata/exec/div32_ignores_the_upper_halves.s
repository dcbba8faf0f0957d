//! versions: v0 v1 v3 v4
//! r0: 0x7fffffff, cu 4
entrypoint:
    mov64 r0, -1
    lddw r1, 0xffffffff00000002
    div32 r0, r1
    exit
