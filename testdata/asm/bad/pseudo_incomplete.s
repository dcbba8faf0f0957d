.globl entrypoint
entrypoint:
    r1
    r1 = 
    r1 ? 5
    if r1 == 5
    if 5 == r1 goto entrypoint
    *(u64 *)(r1 + 0)
    *(float *)(r1 + 0) = 5
    r12 = 5
    exit
