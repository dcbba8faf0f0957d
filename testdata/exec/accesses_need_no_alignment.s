//! input: 0001020304050607 08090a0b0c0d0e0f
//! versions: v0 v1 v2 v3 v4
//! r0: 0xa09080706050403, cu 3
//! registers: r6=0xc0b0a09
entrypoint:
    ldxdw r0, [r1 + 3]
    ldxw r6, [r1 + 9]
    exit
