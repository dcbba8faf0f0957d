.globl entrypoint
entrypoint:
    ja entrypoint + 4
    exit
