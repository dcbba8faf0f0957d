.globl entrypoint
entrypoint:
    mov64 r0, 0
    exit
.rodata
    .byte 1, 2
    .ascii "without a label"
