; Conversions between 128-bit integers and floats, which are in one register, as their bits. NARROW is
; for floats of 32 bits, SIGNED for signed integers. Integers are in registers as in multiply.s. As in
; Rust, what is too large becomes the nearest integer, and what is no number becomes 0.

.ifdef NARROW
.equ FRACTION, 23
.equ BIAS, 127
.equ EXPONENT_MAX, 255
.equ SIGN, 31
.else
.equ FRACTION, 52
.equ BIAS, 1023
.equ EXPONENT_MAX, 2047
.equ SIGN, 63
.endif

.ifdef TO_FLOAT
    mov64 r6, 0  ; the sign
.ifdef SIGNED
    jsge r2, 0, 1f
    negate r1, r2
    mov64 r6, 1
    lsh64 r6, SIGN
1:
.endif
    mov64 r7, BIAS + 126  ; the exponent less 1, which the highest bit of the fraction adds
    jne r2, 0, 2f
    mov64 r2, r1
    mov64 r1, 0
    mov64 r7, BIAS + 62
    mov64 r0, 0
    jeq r2, 0, zero
2:
    normalize r2, r9
    sub64 r7, r9
    jeq r9, 0, 3f
    mov64 r4, 64
    sub64 r4, r9
    mov64 r5, r1
    rsh64 r5, r4
    or64 r2, r5
    lsh64 r1, r9
3:
    mov64 r0, r2
    rsh64 r0, 63 - FRACTION
    lsh64 r2, FRACTION + 1  ; what is cut off
    lsh64 r7, FRACTION
    add64 r7, r0
    jeq r1, 0, 4f
    or64 r2, 1
4:
    mov64 r3, 1
    lsh64 r3, 63
    jlt r2, r3, below
    jgt r2, r3, above
    and64 r0, 1  ; halfway, to the even one
    jeq r0, 0, below
above:
    add64 r7, 1
below:
    mov64 r0, r7
    or64 r0, r6
zero:
    exit
.else
.ifdef NARROW
    lsh64 r1, 32
    rsh64 r1, 32
.endif
    mov64 r6, r1
    rsh64 r6, SIGN
    mov64 r3, r1
    rsh64 r3, FRACTION
    and64 r3, EXPONENT_MAX
    lsh64 r1, 63 - FRACTION
    mov64 r4, 1
    lsh64 r4, 63
    mov64 r0, 0
    mov64 r2, 0
    jne r3, EXPONENT_MAX, number
    mov64 r5, r1
    lsh64 r5, 1
    jeq r5, 0, number
    exit
number:
    jlt r3, BIAS, done  ; less than 1
.ifndef SIGNED
    jne r6, 0, done
.endif
    or64 r1, r4  ; the highest bit of the fraction
    mov64 r7, BIAS + 127
.ifdef SIGNED
    jlt r3, BIAS + 127, fits
    mov64 r0, -1
    mov64 r2, r4
    sub64 r2, 1
    jeq r6, 0, done
    mov64 r0, 0
    mov64 r2, r4
    ja done
.else
    jle r3, BIAS + 127, fits
    mov64 r0, -1
    mov64 r2, -1
    ja done
.endif
fits:
    sub64 r7, r3  ; how far the fraction is from the top
    jge r7, 64, low
    mov64 r2, r1
    rsh64 r2, r7
    jeq r7, 0, signed
    mov64 r4, 64
    sub64 r4, r7
    mov64 r0, r1
    lsh64 r0, r4
    ja signed
low:
    sub64 r7, 64
    mov64 r0, r1
    rsh64 r0, r7
signed:
.ifdef SIGNED
    jeq r6, 0, done
    negate r0, r2
.endif
done:
    exit
.endif
