; u64 apply(u64 (*function)(u64), u64 value): twice
.globl apply
.hidden apply
apply:
    mov64 r6, r1
    mov64 r1, r2
    callx r6
    mov64 r1, r0
    callx r6
    exit

.globl add_three
add_three:
    mov64 r0, r1
    add64 r0, 3
    exit

.globl pick
pick:                       ; u64 (*pick(u64 index))(u64)
    lddw r2, functions
    lsh64 r1, 3
    add64 r2, r1
    ldxdw r0, [r2 + 0]
    exit
.section .data.rel.ro, "aw"
functions: .quad add_three, double_it
