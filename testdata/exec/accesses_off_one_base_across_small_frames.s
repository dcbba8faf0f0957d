//! versions: v0
//! config: frame=512
//! r0: 7, cu 6
//! memory: 0x200000200 = 0700000000000000
; 512 and 1,535 bytes behind it are different frames: the gap between them is no part of either.
entrypoint:
    lddw r9, 0x200000008
    mov64 r1, 7
    stxdw [r9+0x10], r1
    stxdw [r9+0x3f8], r1
    ldxdw r0, [r9+0x3f8]
    exit
