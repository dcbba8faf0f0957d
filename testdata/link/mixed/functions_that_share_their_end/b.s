.globl fourth
.section .text.fourth, "ax", @progbits
fourth:
    mov64 r1, 3
    mov64 r0, 0
finish:
    add64 r0, 5
    sub64 r1, 1
    jne r1, 0, finish
    exit
first_of_b:
    exit
.section .text.dead, "ax", @progbits
.globl dead
dead:
    lddw r1, nothing_of_this_name_either
    stxdw [r10 - 9000], r1
    exit
