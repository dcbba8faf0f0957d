.macro pair a, b:req
    mov64 r1, \a
    mov64 r2, \b
.endm
.globl entrypoint
entrypoint:
    pair 1, 2, 3
    pair 1
    pair b=1
    exit
