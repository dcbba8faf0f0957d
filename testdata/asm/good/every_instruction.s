; version: v0 v1
.globl entrypoint
entrypoint:
    lddw r1, 0x1122334455667788
    lddw r2, -1
    ldxb r1, [r2 + 1]
    ldxh r1, [r2 - 2]
    ldxw r1, [r2]
    ldxdw r1, [r2 + 0x7fff]
    stb [r10 - 1], 255
    sth [r10 - 2], -1
    stw [r10 - 4], 0xffffffff
    stdw [r10 - 8], -1
    stxb [r10 - 1], r1
    stxh [r10 - 2], r1
    stxw [r10 - 4], r1
    stxdw [r10 - 0x8000], r1
    add32 r1, -1
    add64 r1, r2
    sub32 r1, r2
    sub64 r1, 0x7fffffff
    mul32 r1, 3
    mul64 r1, r3
    div32 r1, r2
    div64 r1, 10
    mod32 r1, 10
    mod64 r1, r2
    or32 r1, 0x80000000
    or64 r1, r2
    and32 r1, 0xff
    and64 r1, -8
    xor32 r1, r2
    xor64 r1, 1
    mov32 r1, 0xffffffff
    mov64 r1, -0x80000000
    lsh32 r1, 31
    lsh64 r1, 63
    rsh32 r1, r2
    rsh64 r1, 0
    arsh32 r1, 5
    arsh64 r1, r2
    neg32 r1
    neg64 r1
    le16 r1
    le32 r2
    le64 r3
    be16 r1
    be32 r2
    be64 r3
    jeq r1, 1, next
    jne r1, r2, next
    jgt r1, 2, next
    jge r1, r2, next
    jlt r1, 3, next
    jle r1, r2, next
    jset r1, 4, next
    jsgt r1, r2, next
    jsge r1, -5, next
    jslt r1, r2, next
    jsle r1, 6, next
    ja next
next:
    call function
    call sol_log_
    callx r3
    exit
function:
    exit
