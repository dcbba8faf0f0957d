; The product of two 128-bit integers modulo 2^128: LLVM's `__multi3`.
;
; An integer is in two registers, low half first: r1 and r2 times r3 and r4 give r0 and r2. The
; virtual machine preserves r6 to r9 across calls, so routines may clobber them.

.macro multiply   ; r0 and r2 = r1 * r3; clobbers r4 and r5
    mov64 r0, r1
    mul64 r0, r3
    mov64 r4, r1
    rsh64 r4, 32
    lsh64 r1, 32
    rsh64 r1, 32
    mov64 r5, r3
    rsh64 r5, 32
    lsh64 r3, 32
    rsh64 r3, 32
    mov64 r2, r4
    mul64 r2, r5  ; the product of the upper quarters
    mul64 r4, r3
    mul64 r5, r1
    mul64 r1, r3
    rsh64 r1, 32
    add64 r4, r1  ; no sum of these overflows
    mov64 r1, r4
    rsh64 r1, 32
    add64 r2, r1
    lsh64 r4, 32
    rsh64 r4, 32
    add64 r4, r5
    rsh64 r4, 32
    add64 r2, r4
.endm

.macro negate low, high
    neg64 \low
    xor64 \high, -1
    jne \low, 0, 5f
    add64 \high, 1
5:
.endm

.macro normalize number, count  ; shifts the highest set bit to the top; clobbers r5
    mov64 \count, 0
.irp bits, 32, 16, 8, 4, 2, 1
    mov64 r5, \number
    rsh64 r5, 64 - \bits
    jne r5, 0, 1f
    lsh64 \number, \bits
    add64 \count, \bits
1:
.endr
.endm

.macro product  ; r0 and r2 = r1 and r2 times r3 and r4, modulo 2^128; clobbers r5 and r9
    mul64 r2, r3
    mul64 r4, r1
    add64 r2, r4
    mov64 r9, r2
    multiply
    add64 r2, r9
.endm

.ifdef PRODUCT
    product
    exit
.endif
