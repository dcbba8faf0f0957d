; The quotient or, with REMAINDER, the remainder of two 128-bit integers; with SIGNED, of signed ones,
; rounded toward zero. Registers are as in multiply.s. Division by zero traps, as a 64-bit one does.
;
; Knuth's algorithm D with digits of 32 bits. Where the divisor has more than 64 bits, its upper 64
; give a quotient that is too large by one at most.

; One digit: r0 = r2 / r3, where r4 and r5 are the halves of r3 and r6 is the digit below r2; r2
; becomes the remainder. Clobbers r1, r7 and r8.
.macro digit
    mov64 r0, r2
    div64 r0, r4
    mov64 r8, r2
    mod64 r8, r4
1:
    mov64 r1, r0
    rsh64 r1, 32
    jne r1, 0, 2f
    mov64 r1, r0
    mul64 r1, r5
    mov64 r7, r8
    lsh64 r7, 32
    or64 r7, r6
    jle r1, r7, 3f
2:
    add64 r0, -1  ; the guess was too large
    add64 r8, r4
    mov64 r1, r8
    rsh64 r1, 32
    jeq r1, 0, 1b
3:
    lsh64 r2, 32
    or64 r2, r6
    mov64 r1, r0
    mul64 r1, r3
    sub64 r2, r1
.endm

.macro divide  ; r0 = r2 and r1 / r3, r1 = remainder; requires r2 < r3; clobbers all others
    normalize r3, r9
    jeq r9, 0, 4f
    mov64 r4, 64
    sub64 r4, r9
    mov64 r5, r1
    rsh64 r5, r4
    lsh64 r2, r9
    or64 r2, r5
    lsh64 r1, r9
4:
    mov64 r4, r3
    rsh64 r4, 32
    mov64 r5, r3
    lsh64 r5, 32
    rsh64 r5, 32
    stxdw [r10 - 8], r1
    mov64 r6, r1
    rsh64 r6, 32
    digit
    lsh64 r0, 32
    stxdw [r10 - 16], r0
    ldxw r6, [r10 - 8]
    digit
    ldxdw r1, [r10 - 16]
    or64 r0, r1
    mov64 r1, r2
    rsh64 r1, r9
.endm

.ifdef SIGNED
.ifdef REMAINDER
    mov64 r5, r2
.else
    mov64 r5, r2
    xor64 r5, r4
.endif
    stxdw [r10 - 64], r5
    jsge r2, 0, 6f
    negate r1, r2
6:
    jsge r4, 0, 7f
    negate r3, r4
7:
.endif
    jne r4, 0, wide
    mov64 r0, 0
    jlt r2, r3, reduced
    mov64 r0, r2
    div64 r0, r3
    mod64 r2, r3
reduced:
    jne r2, 0, long
; The remainder fits a register.
.ifdef REMAINDER
    mov64 r0, r1
    mod64 r0, r3
.else
    mov64 r2, r0
    mov64 r0, r1
    div64 r0, r3
.endif
    ja done
long:
    stxdw [r10 - 24], r0
    divide
.ifdef REMAINDER
    mov64 r0, r1
    mov64 r2, 0
.else
    ldxdw r2, [r10 - 24]
.endif
    ja done

wide:
    stxdw [r10 - 24], r1
    stxdw [r10 - 32], r2
    stxdw [r10 - 40], r3
    stxdw [r10 - 48], r4
    normalize r4, r9
    stxdw [r10 - 56], r9
    jeq r9, 0, aligned
    mov64 r5, 64
    sub64 r5, r9
    rsh64 r3, r5
    or64 r4, r3
aligned:
    mov64 r3, r4
    ; Half of the dividend, so that its upper half is less than the divisor.
    rsh64 r1, 1
    mov64 r5, r2
    lsh64 r5, 63
    or64 r1, r5
    rsh64 r2, 1
    divide
    mov64 r1, 63
    ldxdw r2, [r10 - 56]
    sub64 r1, r2
    rsh64 r0, r1
    jeq r0, 0, guessed
    add64 r0, -1
guessed:
    ; The guess is right, or too small by one.
    stxdw [r10 - 8], r0
    mov64 r9, r0
    ldxdw r4, [r10 - 48]
    mul64 r9, r4
    mov64 r1, r0
    ldxdw r3, [r10 - 40]
    multiply
    add64 r2, r9
    ldxdw r6, [r10 - 24]
    ldxdw r7, [r10 - 32]
    ldxdw r3, [r10 - 40]
    ldxdw r4, [r10 - 48]
    sub64 r7, r2
    jge r6, r0, no_borrow
    add64 r7, -1
no_borrow:
    sub64 r6, r0
    ldxdw r0, [r10 - 8]
    jlt r7, r4, right
    jgt r7, r4, too_small
    jlt r6, r3, right
too_small:
    add64 r0, 1
.ifdef REMAINDER
    sub64 r7, r4
    jge r6, r3, borrowed
    add64 r7, -1
borrowed:
    sub64 r6, r3
.endif
right:
.ifdef REMAINDER
    mov64 r0, r6
    mov64 r2, r7
.else
    mov64 r2, 0
.endif

done:
.ifdef SIGNED
    ldxdw r5, [r10 - 64]
    jsge r5, 0, 8f
    negate r0, r2
8:
.endif
    exit
