.globl entrypoint
entrypoint:
    ldxb r2, [r1 + 40000]
    ldxdw r3, [r2 + 0xa188]
    stxdw [r10 - 32769], r1
    exit
