; version: v2
.globl entrypoint
entrypoint:
    add64 r10, -128
    lddw r1, 0x8877665544332211 ; two halves in V2
    lddw r2, message
    ldxb r1, [r2 + 1]
    ldxdw r1, [r2 - 1]
    stw [r10 - 4], 5
    stxh [r10 - 2], r1
    lmul32 r1, r2
    lmul64 r1, -5
    uhmul64 r1, 0xffffffff
    shmul64 r1, r2
    udiv32 r1, 7
    udiv64 r1, -1
    urem64 r1, 0x80000000
    sdiv32 r1, r2
    srem64 r1, -7
    hor64 r1, 0xdeadbeef
    sub64 r1, 0
    be32 r1
    callx r4
    add64 r10, 128
    exit
.rodata
message: .ascii "v2"
