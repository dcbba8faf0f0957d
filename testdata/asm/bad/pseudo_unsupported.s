.globl entrypoint
entrypoint:
    r1 = *(s8 *)(r2 + 0)
    r1 = (s32)r2
    gotol entrypoint
    may_goto entrypoint
    r1 s/= r2
    exit
