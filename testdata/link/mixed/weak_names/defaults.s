.weak overridden, kept, absent, table
.globl entrypoint
entrypoint:
    call overridden
    mov64 r6, r0
    call kept
    mov64 r7, r0
    call of_c
    mov64 r8, r0
    lddw r9, absent
    lddw r1, table
    ldxdw r5, [r1 + 0]
    mov64 r1, r6
    mov64 r2, r7
    mov64 r3, r8
    mov64 r4, r9
    call sol_log_64_
    mov64 r0, 0
    exit

overridden:
    mov64 r0, 1
    jeq r0, 0, overridden   ; a jump stays here
    exit
.size overridden, . - overridden
kept:
    mov64 r0, 2
    exit
.globl of_c
of_c:
    mov64 r0, 3
    exit
.rodata
table: .quad 4
