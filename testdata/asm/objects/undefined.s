.globl misspelt, f
.equ SIZE, TYPO * 8
.equ LENGTH, 4
f:
    mov64 r1, LENGHT
    mov64 r1, outside
    ldxdw r2, [r1 + OFFSET]
    ja away
    jne r1, 0, elsewhere
    ja elsewhere + 8
    call 1f
    call .Lnothing
    lddw r1, .Lnothing
    lddw r1, outside + 0x8000_0000
    add64 r1, outside - f
    call table + 4
    exit
.section .text.b
elsewhere:
    mov64 r0, 0
    exit
.rodata
table: .int outside
.byte -outside
