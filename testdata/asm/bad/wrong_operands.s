.globl entrypoint
entrypoint:
    mov64 r1
    exit r0
    ldxdw r1, 8
    stxdw r1, [r10 - 8]
    stxdw [r10 - 8], 5
    ja r1
    jeq r1, 5
    add64 r1, r2, r3
    add64 r1, 2, 3, 4
    neg64 r1, r2
    exit
