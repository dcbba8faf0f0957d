; uint64_t scale(uint64_t amount, uint64_t rate): amount * rate / 2^64, rounded down.
;
; The product has 128 bits, of which the upper half is wanted. It is put together of four products
; of halves, none of which overflows. Arguments come in r1 and r2, the result goes to r0; r1 to r5
; need not be kept.
.globl scale
.type scale, @function
scale:
    mov32 r3, r1  ; the lower halves
    mov32 r4, r2
    rsh64 r1, 32  ; the upper halves
    rsh64 r2, 32
    mov64 r0, r3
    mul64 r0, r4
    rsh64 r0, 32
    mul64 r3, r2
    add64 r0, r3  ; at most 2^64 - 2^32
    mul64 r4, r1
    mov32 r5, r0
    add64 r4, r5
    rsh64 r0, 32
    rsh64 r4, 32
    mul64 r1, r2
    add64 r0, r1
    add64 r0, r4
    exit
.size scale, . - scale
