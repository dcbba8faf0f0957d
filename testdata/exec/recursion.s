//! versions: v0 v3 v4
//! r0: 55, cu 1238
entrypoint:
    mov64 r1, 10
    call fibonacci
    exit
fibonacci:
    mov64 r0, r1
    jle r1, 1, out
    mov64 r6, r1
    add64 r1, -1
    call fibonacci
    mov64 r7, r0
    mov64 r1, r6
    add64 r1, -2
    call fibonacci
    add64 r0, r7
out:
    exit
