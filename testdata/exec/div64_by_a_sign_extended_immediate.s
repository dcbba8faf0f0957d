//! versions: v0 v1 v3 v4
//! r0: 1, cu 5
//! registers: r6=0
entrypoint:
    mov64 r0, -1
    mov64 r6, -1
    div64 r0, -1
    mod64 r6, -1
    exit
