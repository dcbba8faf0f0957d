; Adds the squares of 1 to 5 in memory, and fails with the sum.
.globl entrypoint
entrypoint:
    lddw r7, 0x300000000
    mov64 r6, 0
next:
    add64 r6, 1
    mov64 r1, r6
    call square
    ldxdw r2, [r7]
    add64 r2, r0
    stxdw [r7], r2
    jlt r6, 5, next
    mov64 r1, r6
    mov64 r2, 0
    mov64 r3, 0
    mov64 r4, 0
    mov64 r5, 0
    call sol_log_64_
    ldxdw r0, [r7]
    exit

square:
    mov64 r0, r1
    mul64 r0, r1
    exit
