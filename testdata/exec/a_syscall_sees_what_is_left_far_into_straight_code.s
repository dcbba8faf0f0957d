//! versions: v0 v1 v2 v3 v4
//! budget: 5000
//! r0: 1999, cu 3002
.syscall left
entrypoint:
.rept 3000
    add64 r6, 1
.endr
    call left
    exit
