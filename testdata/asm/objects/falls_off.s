.globl f, g
f:
    mov64 r0, 0
.section .text.g
g:
    call abort
.section .text.h
h:
    call h
