//! versions: v0 v3
//! r0: 3, cu 11
entrypoint:
    add64 r0, 1
    jge r0, 3, out
    call entrypoint
out:
    exit
