//! versions: v0 v1 v3 v4
//! r0: 5, cu 6
//! versions: v2
//! r0: 5, cu 7
entrypoint:
    lddw r6, function
    add64 r6, 7
    callx r6
    exit
function:
    mov64 r0, 5
    exit
