//! versions: v3 v4
//! trap: AccessViolation Store 0x0 len 1 in allocated, pc 0, cu 1
entrypoint:
    stb [r2], 1
    exit
.rodata
    .quad 5
