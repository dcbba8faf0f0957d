# The reference: the other dialects of this program must give its bytes.
.globl entrypoint
entrypoint:
    mov64 r6, r1
    ldxdw r2, [r6 + 0]
    jne r2, 1, fail
    ldxw r3, [r6 + 8]
    stxw [r10 - 4], r3
    stb [r10 - 5], 7
    lddw r4, 0x123456789abcdef
    arsh64 r4, 3
    add32 r4, 5
    neg64 r4
    be16 r4
    xor64 r4, r3
    jsgt r4, -5, next
    mov32 r4, 0
next:
    call double
    call sol_log_64_
    callx r7
    mov64 r0, 0
    exit
fail:
    mov64 r0, 1
    exit
double:
    lsh64 r1, 1
    ja out
out:
    exit
