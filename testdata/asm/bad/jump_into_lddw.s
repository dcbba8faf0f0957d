.globl entrypoint
entrypoint:
    ja +1
    lddw r1, 0x1122334455667788
    exit
