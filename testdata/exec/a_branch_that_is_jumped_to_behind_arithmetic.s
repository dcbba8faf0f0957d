//! versions: v0 v3
//! r0: 1, cu 6
//! versions: v0 v3
//! config: metered=off
//! r0: 1, cu 0
; The branch looks at a register that the instruction before it has just changed, but that is not
; how control comes to it.
entrypoint:
    mov64 r2, 0
    add64 r3, 5
    ja branch
back:
    add64 r2, 1
branch:
    jne r2, 0, back
    mov64 r0, 1
    exit
