.globl entrypoint
entrypoint:
    mov64 r1, 1
    stxdw [r10 - 4096], r1
    call deep
    exit
deep:
    mov64 r2, r10
    add64 r2, -4100
    stxb [r2 + 0], r1
    exit
