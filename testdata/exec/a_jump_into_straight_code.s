//! versions: v0 v1 v2 v3 v4
//! r0: 750, cu 755
//! registers: r2=2
entrypoint:
.rept 250
    add64 r0, 1
.endr
middle:
.rept 250
    add64 r0, 1
.endr
    add64 r2, 1
    jlt r2, 2, middle
    exit
