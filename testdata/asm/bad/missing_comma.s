.globl entrypoint
entrypoint:
    mov64 r1 5
    exit
