; A weak function that no object defines has the address 0, and a call of it is a trap.
.weak hook
.globl entrypoint
entrypoint:
    lddw r1, hook
    jeq r1, 0, without
    call hook
without:
    mov64 r0, 0
    exit
