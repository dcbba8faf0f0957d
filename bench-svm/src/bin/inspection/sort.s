// Sorts random numbers in its heap by insertion, in some 1.4 million compute units.

.globl entrypoint
entrypoint:
    lddw r6, 0x300000000
    mov64 r1, 0
    mov64 r2, 88172645
fill:
    mov64 r3, r2
    lsh64 r3, 13
    xor64 r2, r3
    mov64 r3, r2
    rsh64 r3, 7
    xor64 r2, r3
    mov64 r3, r2
    lsh64 r3, 17
    xor64 r2, r3
    mov64 r4, r1
    lsh64 r4, 3
    add64 r4, r6
    stxdw [r4+0], r2
    add64 r1, 1
    jlt r1, 950, fill
    mov64 r1, 1
outer:
    mov64 r4, r1
    lsh64 r4, 3
    add64 r4, r6
    ldxdw r5, [r4+0]
inner:
    jeq r4, r6, place
    ldxdw r3, [r4-8]
    jle r3, r5, place
    stxdw [r4+0], r3
    sub64 r4, 8
    ja inner
place:
    stxdw [r4+0], r5
    add64 r1, 1
    jlt r1, 950, outer
    mov64 r0, 0
    exit
