.globl entrypoint
entrypoint:
    jeq32 r1, 0, entrypoint
    if w1 == w2 goto entrypoint
    exit
