; The product of two signed 128-bit integers modulo 2^128, with an overflow flag, an `int`, at the
; address in r5: LLVM's `__muloti4`. Registers are as in multiply.s.

    stxdw [r10 - 8], r5
    stxdw [r10 - 16], r1
    stxdw [r10 - 24], r2
    stxdw [r10 - 32], r3
    stxdw [r10 - 40], r4
    mov64 r9, r2
    xor64 r9, r4  ; the sign of the product
    jsge r2, 0, 1f
    negate r1, r2
1:
    jsge r4, 0, 2f
    negate r3, r4
2:
    ; If neither upper half is 0, the product has more than 128 bits.
    jeq r2, 0, narrow
    jne r4, 0, over
    mov64 r7, r1
    mov64 r1, r2  ; the upper half, times the lower of the other
    mov64 r8, r3
    ja cross
narrow:
    mov64 r7, r1
    mov64 r8, r3
    mov64 r3, r4
cross:
    multiply
    jne r2, 0, over
    mov64 r6, r0
    mov64 r1, r7
    mov64 r3, r8
    multiply
    add64 r2, r6
    jlt r2, r6, over
    ; The smallest negative number has no positive counterpart.
    jsge r9, 0, 3f
    negate r0, r2
    jslt r2, 0, fits
    jne r0, 0, over
    jne r2, 0, over
    ja fits
3:
    jslt r2, 0, over
fits:
    mov64 r5, 0
    ja whole
over:
    mov64 r5, 1
whole:
    ldxdw r1, [r10 - 8]
    stxw [r1 + 0], r5
    ldxdw r1, [r10 - 16]
    ldxdw r2, [r10 - 24]
    ldxdw r3, [r10 - 32]
    ldxdw r4, [r10 - 40]
    product
    exit
