r1: exit
.equ r2, 5
r3 = 
.globl entrypoint
entrypoint:
    mov64 r0, 5 + r1
    exit
