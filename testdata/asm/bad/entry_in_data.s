.globl entrypoint
.rodata
entrypoint: .byte 1
.text
    exit
