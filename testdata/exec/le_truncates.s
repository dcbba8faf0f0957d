//! versions: v0 v1 v3 v4
//! r0: 0x1122334455667788, cu 7
//! registers: r6=30600 r7=0x55667788
entrypoint:
    lddw r0, 0x1122334455667788
    mov64 r6, r0
    mov64 r7, r0
    le16 r6
    le32 r7
    le64 r0
    exit
