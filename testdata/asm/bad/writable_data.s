.data
counter: .quad 0
.bss
buffer: .zero 64
.comm shared, 8
.section .data.local,"aw"
.text
.globl entrypoint
entrypoint:
    exit
