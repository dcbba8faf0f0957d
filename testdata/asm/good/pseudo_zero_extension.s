; version: v0 v1 v3 v4
; `r0 = w1`: clang -mcpu=v3 writes so what takes the lower half of a register.
.globl entrypoint
entrypoint:
    r0 = w1
    w2 = w1
    exit
