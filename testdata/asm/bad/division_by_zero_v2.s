; version: v2
.globl entrypoint
entrypoint:
    udiv64 r1, 0
    srem32 r1, 0
    exit
