//! versions: v0 v3
//! config: aligned=off
//! region: 0x400000100 rw 00*64
//! trap: AccessViolation Store 0xffffffffffffffff len 4 in unallocated, pc 3, cu 11
; Found by comparing random programs: the last byte has a small address, and is no nearer to the
; region that the same instruction went to before.
entrypoint:
    lddw r8, 0x400000100
    mov64 r6, 2
again:
    stw [r8+0], 7
    sub64 r6, 1
    jne r6, 0, again
    mov64 r8, -1
    ja again
