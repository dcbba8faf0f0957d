//! versions: v0 v1 v3 v4
//! r0: 0x8877665544332211, cu 7
//! registers: r6=34935 r7=0x88776655
//! versions: v2
//! r0: 0x8877665544332211, cu 8
//! registers: r6=34935 r7=0x88776655
entrypoint:
    lddw r0, 0x1122334455667788
    mov64 r6, r0
    mov64 r7, r0
    be16 r6
    be32 r7
    be64 r0
    exit
