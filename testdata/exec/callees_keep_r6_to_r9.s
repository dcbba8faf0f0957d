//! versions: v0 v1 v2 v3 v4
//! r0: 1, cu 17
//! registers: r1=11 r2=12 r3=13 r4=14 r5=15 r6=6 r7=7 r8=8 r9=9
entrypoint:
    mov64 r6, 6
    mov64 r7, 7
    mov64 r8, 8
    mov64 r9, 9
    call function
    exit
function:
    mov64 r0, 1
    mov64 r1, 11
    mov64 r2, 12
    mov64 r3, 13
    mov64 r4, 14
    mov64 r5, 15
    mov64 r6, 16
    mov64 r7, 17
    mov64 r8, 18
    mov64 r9, 19
    exit
