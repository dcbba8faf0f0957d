.globl entrypoint
entrypoint:
    call r1
    call
    callx entrypoint
    exit
