; version: v3
.globl entrypoint
entrypoint:
    lddw r1, text - 1
    lddw r1, text + 1
    exit
.rodata
text: .ascii "text"
.quad text - 2
