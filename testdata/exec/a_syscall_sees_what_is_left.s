//! budget: 100
//! versions: v0 v1 v2 v3 v4
//! r0: 95, cu 8
//! registers: r6=97
.syscall left
entrypoint:
    mov64 r7, 1
    mov64 r8, 2
    call left
    mov64 r6, r0
    call left
    ja next
next:
    mov64 r9, 3
    exit
