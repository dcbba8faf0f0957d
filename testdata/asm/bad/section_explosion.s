.globl entrypoint
entrypoint:
    exit
.rept 3000
.section .rodata.a\@
.zero 0xfffff
.endr
