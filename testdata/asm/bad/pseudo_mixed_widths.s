.globl entrypoint
entrypoint:
    r1 += w2
    w1 = r2
    r1 = -r2
    r1 = be16 r2
    exit
