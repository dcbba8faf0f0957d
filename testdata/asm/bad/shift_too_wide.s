.globl entrypoint
entrypoint:
    lsh64 r1, 64
    lsh32 r1, 40
    rsh64 r1, -1
    arsh32 r1, 32
    lsh64 r1, 63
    exit
