//! versions: v0 v3 v4
//! r0: 0x200001000, cu 2
//! registers: r1=0x400000000 r2=0 r9=0
//! versions: v1 v2
//! r0: 0x200040000, cu 2
//! registers: r1=0x400000000 r2=0 r9=0
entrypoint:
    mov64 r0, r10
    exit
