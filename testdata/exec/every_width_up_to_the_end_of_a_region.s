//! heap: 8
//! versions: v0 v1 v3 v4
//! r0: 0, cu 10
//! memory: 0x300000000 = 4444444424434144
//! registers: r6=68 r7=17473 r8=0x44414324
entrypoint:
    lddw r1, 0x300000000
    lddw r2, 0x4444444444444444
    stxdw [r1], r2
    stw [r1 + 4], 0x41424324
    sth [r1 + 6], 0x4441
    stb [r1 + 7], 0x44
    ldxb r6, [r1 + 7]
    ldxh r7, [r1 + 6]
    ldxw r8, [r1 + 4]
    exit
