.rodata
.zero -1
.fill 2, 3, 4
.fill 2, 1, 256
.zero 0x7fffffff
.text
.globl entrypoint
entrypoint:
    exit
