; Arguments of functions are in r1 to r5, and the result is in r0. A function may change r1 to r5: what is
; needed later belongs elsewhere.
;
;     selkie run examples/registers/arguments.s

.globl entrypoint
entrypoint:
    mov64 r1, 10
    mov64 r2, 25
    call sum
    mov64 r3, r0  ; 35, which is 0x23
    mov64 r0, 0
    exit

sum:
    mov64 r0, r1
    add64 r0, r2
    exit
