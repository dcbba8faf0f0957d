; version: v3
.globl entrypoint
entrypoint:
    lmul64 r1, r2
    udiv32 r1, r2
    sdiv64 r1, 5
    hor64 r1, 5
