//! versions: v0 v1 v2 v3 v4
//! r0: 55, cu 8
//! registers: r1=1 r2=2 r3=3 r4=4 r5=5 r6=9
.syscall weigh
entrypoint:
    mov64 r1, 1
    mov64 r2, 2
    mov64 r3, 3
    mov64 r4, 4
    mov64 r5, 5
    mov64 r6, 9
    call weigh
    exit
