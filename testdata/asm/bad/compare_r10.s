.globl entrypoint
entrypoint:
    jeq r10, 5, entrypoint
    jeq r5, r10, entrypoint
    exit
