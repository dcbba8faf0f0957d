.equ BALANCE_OFFSET, 72
.globl entrypoint
entrypoint:
    ldxdw r2, [r1 + BALANCE_OFSET]
    jeq r2, 0, fial
    exit
fail:
    exit
