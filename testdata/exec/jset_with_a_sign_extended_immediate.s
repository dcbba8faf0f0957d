//! versions: v0 v1 v3 v4
//! r0: 2, cu 6
entrypoint:
    lddw r1, 0x8000000000000000
    jset r1, 1, wrong               // no bit in common
    jset r1, -1, next
wrong:
    exit
next:
    mov64 r0, 2
    jset r1, r0, wrong
    exit
