# u64 sum(const u64 *numbers, u64 count)
.globl sum
.type sum, @function
sum:
    mov64 r0, 0
1:  jeq r2, 0, 2f
    ldxdw r3, [r1 + 0]
    add64 r0, r3
    add64 r1, 8
    sub64 r2, 1
    ja 1b
2:  exit
.size sum, . - sum

# u64 clobber(u64 value): what a call need not keep is gone afterwards, all else is as it was.
.globl clobber
clobber:
    mov64 r0, r1
    mov64 r1, -1
    mov64 r2, -1
    mov64 r3, -1
    mov64 r4, -1
    mov64 r5, -1
    exit
