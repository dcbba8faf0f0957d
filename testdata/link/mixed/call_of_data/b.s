.globl table
.rodata
table: .quad 1
