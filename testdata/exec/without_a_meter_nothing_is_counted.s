//! versions: v0 v1 v2 v3 v4
//! config: metered=off
//! budget: 0
//! r0: 5000, cu 0
//! steps: 15002
entrypoint:
    mov64 r1, 5000
loop:
    add64 r0, 1
    add64 r1, -1
    jne r1, 0, loop
    exit
