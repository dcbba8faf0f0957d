.globl entrypoint
entrypoint:
    mov64 r10, 5
    ldxdw r10, [r1 + 0]
    sub64 r10, 64
    lddw r10, 1
    be16 r10
    exit
