.globl entrypoint
entrypoint:
    add r10, -64
    exit
