; The program starts here, and calls C, which calls back.
.globl entrypoint
entrypoint:
    mov64 r6, 6
    mov64 r1, 10
    call triangle
    mov64 r1, r0
    mov64 r2, r6            ; which C has kept
    lddw r3, 0x1_0000_0001
    call quotient
    mov64 r2, r0
    mov64 r1, r6
    mov64 r3, 0
    mov64 r4, 0
    mov64 r5, 0
    call sol_log_64_
    mov64 r0, 0
    exit

.globl decrement
decrement:
    sub64 r1, 1
    mov64 r0, r1
    exit
