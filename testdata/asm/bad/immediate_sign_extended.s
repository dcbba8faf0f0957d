.globl entrypoint
entrypoint:
    mov64 r1, 0x80000000
    and64 r1, 0xffffffff
    stdw [r10 - 8], 0xffffffff
    jgt r1, 0xffffffff, entrypoint
    mov32 r1, 0xffffffff
    stw [r10 - 8], 0xffffffff
    exit
