.globl entrypoint
entrypoint:
    mov64 r1, 0x1ffffffff
    add64 r1, 4294967296
    mov32 r1, -0x80000001
    stw [r10 - 8], 0x100000000
    exit
