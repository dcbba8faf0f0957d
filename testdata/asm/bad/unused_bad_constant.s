.equ UNUSED, NOWHERE + 1
.equ FINE, entrypoint + 8
.globl entrypoint
entrypoint:
    lddw r1, FINE
    exit
