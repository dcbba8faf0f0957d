.globl f, table, NUMBER, NEGATIVE, alias, absent_but_used, _start
.equ NUMBER, 0x1_0000_0000
.equ NEGATIVE, -2
.set alias, table + 8
f:
    lddw r1, table
    lddw r2, table + 24
    lddw r3, text
    lddw r4, .Llocal
    lddw r5, outside - 8
    lddw r6, alias
    lddw r7, table_end - table
    lddw r8, NUMBER
    lddw r9, absent_but_used
    ldxdw r1, [r2 + (table_end - table)]
    exit
_start:
    exit
.rodata
.balign 32
table: .quad 1, f, outside + 4, text - 1
table_end:
.size table, table_end - table
.Llocal: .byte NUMBER >> 32
.section .rodata.text, "a"
text: .asciz "text"
.data
variable: .zero 8
.bss
.p2align 4
zeroed: .zero 12
.globl zeroed
.comm shared, 24, 16
.comm small, 1
.lcomm own, 5
.hidden zeroed
.protected table
.internal f
