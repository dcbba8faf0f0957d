.macro double a
    \a
    \a
.endm
.globl entrypoint
entrypoint:
.rept 100000
.rept 100000
    mov64 r0, 0
.endr
.endr
    exit
