.globl entrypoint
entrypoint:
    mov64 r11, 0
    ldxdw r1, [r12 + 8]
    callx r15
    exit
