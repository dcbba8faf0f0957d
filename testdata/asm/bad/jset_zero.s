.globl entrypoint
entrypoint:
    jset r1, 0, entrypoint
    exit
