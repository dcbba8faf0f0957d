.globl entrypoint
entrypoint:
    callx r10
    exit
