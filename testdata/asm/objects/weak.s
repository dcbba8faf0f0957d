.weak f, g, absent, table
f:
    jeq r1, 0, f
    call f
    call g
    call absent
    lddw r1, table
    lddw r2, table + 8
    lddw r3, absent
    exit
.size f, . - f
.globl g
g:
    exit
.rodata
table: .quad f
.size table, . - table
