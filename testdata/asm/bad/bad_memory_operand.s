.globl entrypoint
entrypoint:
    ldxdw r1, [8 + r1]
    ldxdw r1, [r1 * 8]
    ldxdw r1, [r1 + 8
    ldxdw r1, r1 + 8
    exit
