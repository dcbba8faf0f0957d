//! versions: v0 v1 v3 v4
//! r0: 2, cu 6
entrypoint:
    lddw r6, function
    add64 r6, 8
    callx r6
    exit
function:
    mov64 r0, 1
    add64 r0, 2
    exit
