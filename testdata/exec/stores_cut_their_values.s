//! heap: 16
//! versions: v0 v1 v3 v4
//! r0: 0, cu 7
//! memory: 0x300000000 = 88ff334455667788ffffffffffffffff
entrypoint:
    lddw r1, 0x300000000
    lddw r2, 0x8877665544337788
    stxdw [r1], r2
    stdw [r1 + 8], -1               // all 64 bits are set
    stxb [r1], r2
    stb [r1 + 1], -1
    exit
