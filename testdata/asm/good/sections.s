	.section	.text.second,"ax",@progbits
second:
    exit
    .text
    .globl entrypoint
entrypoint:
    call second
    .fill 2, 0xb7
    .quad 0x95
    .p2align 4
    .pushsection .rodata
    unnamed: .byte 1
    .popsection
    exit
