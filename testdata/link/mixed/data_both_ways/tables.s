.globl squares, names, count, LIMIT
.equ LIMIT, 0xfeed

.globl lookup
lookup:                     ; u64 lookup(u64 index): from the table of C
    lsh64 r1, 2
    lddw r2, cubes + 4      ; from the second one on
    add64 r2, r1
    ldxw r0, [r2 + 0]
    exit

.globl bump
bump:
    lddw r1, count
    ldxdw r0, [r1 + 0]
    add64 r0, 1
    stxdw [r1 + 0], r0
    lddw r1, total          ; a variable of C
    ldxw r2, [r1 + 0]
    add64 r2, 100
    stxw [r1 + 0], r2
    lddw r1, shared         ; common to both
    stxdw [r1 + 8], r2
    exit

.section .rodata.squares, "a", @progbits
.balign 8
squares: .quad 0, 1, 4, 9, 16
.size squares, . - squares
.section .data.rel.ro, "aw", @progbits
names:
    .quad first, second, cubes, lookup, squares + 16
.section .rodata.str, "a", @progbits
first: .asciz "first"
second: .asciz "second"
.bss
.balign 8
count: .zero 8
.size count, 8
.comm shared, 16, 8
