; version: v1
.globl f
f:
    add64 r10, -64
    exit
