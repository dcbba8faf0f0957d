.globl entrypoint
entrypoint:
    lddw r1, 18446744073709551616
    lddw r1, -18446744073709551615
    exit
