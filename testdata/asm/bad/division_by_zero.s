.globl entrypoint
entrypoint:
    div64 r1, 0
    mod32 r1, 0
    mul64 r1, 0
    exit
