// Only the first byte of an access is held against the gaps between frames.
//! versions: v0
//! r0: 0x1122334455667788, cu 7
//! registers: r6=0x1122334455667788 r7=0x11223344556677
//! memory: 0x200000fff = 8877665544332211
//!
//! versions: v3
//! r0: 0x1122334455667788, cu 7
//! memory: 0x200000fff = 8877665544332211
entrypoint:
    lddw r0, 0x1122334455667788
    lddw r1, 0x200000fff
    stxdw [r1], r0
    ldxdw r6, [r1]
.if SBPF_VERSION == 0
    add64 r1, 0x1001                // the next frame, behind the gap
.else
    add64 r1, 1
.endif
    ldxdw r7, [r1]
    exit
