//! versions: v0 v1 v3 v4
//! r0: 0x1122334455667788, cu 3
//! versions: v2
//! r0: 0x1122334455667788, cu 4
entrypoint:
    lddw r1, data
    ldxdw r0, [r1]
    exit
.rodata
data: .quad 0x1122334455667788
