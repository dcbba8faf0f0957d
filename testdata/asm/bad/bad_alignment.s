.rodata
.align 3
.p2align 20
.align 0x2000
.text
.globl entrypoint
entrypoint:
    exit
