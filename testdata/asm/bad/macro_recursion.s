.macro again
    again
.endm
.globl entrypoint
entrypoint:
    again
    exit
