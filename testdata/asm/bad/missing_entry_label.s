.globl entrypoint
start:
    exit
