.globl entrypoint
entrypoint:
    w1 += 3
    w2 -= w1
    w3 *= 4
    w4 &= 5
    exit
