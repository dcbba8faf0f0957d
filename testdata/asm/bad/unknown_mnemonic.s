.globl entrypoint
entrypoint:
    foo64 r1, 2
    mvo64 r1, 2
    MOV64 r1, 2
    exit
