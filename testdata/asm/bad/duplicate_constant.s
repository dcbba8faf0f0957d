.equ LIMIT, 1
.equ LIMIT, 1
.equ LIMIT, 2
LIMIT:
.globl entrypoint
entrypoint:
    exit
