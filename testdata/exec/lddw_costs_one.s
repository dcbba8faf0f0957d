//! versions: v0 v1 v3 v4
//! r0: 0x1122334455667788, cu 2
//! pc: 2
//! versions: v2
//! r0: 0x1122334455667788, cu 3
//! pc: 2
entrypoint:
    lddw r0, 0x1122334455667788
    exit
