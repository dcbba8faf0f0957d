.macro open a
    mov64 r1, \a
.globl entrypoint
entrypoint:
    exit
