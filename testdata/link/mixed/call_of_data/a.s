.globl entrypoint
entrypoint:
    call table
    exit
