//! versions: v4
//! region: 0x5fffffff8 rw 00*24
//! trap: AccessViolation Store 0x600000008 len 2 in unallocated, pc 4, cu 4
//! memory: 0x5fffffff8 = 0000000000000000
; The region reaches into the next window, but with aligned mapping nothing there is its own.
entrypoint:
    lddw r8, 0x5fffffffe
    ldxb r0, [r8+1]
    mov64 r1, 3
    stxh [r8+10], r1
    stxdw [r8-6], r1
    exit
