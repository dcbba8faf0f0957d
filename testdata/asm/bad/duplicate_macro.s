.macro a
.endm
.macro a
.endm
.purgem b
.globl entrypoint
entrypoint:
    exit
