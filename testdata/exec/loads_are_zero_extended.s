//! input: ff*8
//! versions: v0 v1 v2 v3 v4
//! r0: 255, cu 5
//! registers: r6=65535 r7=0xffffffff r8=0xffffffffffffffff
entrypoint:
    ldxb r0, [r1]
    ldxh r6, [r1]
    ldxw r7, [r1]
    ldxdw r8, [r1]
    exit
