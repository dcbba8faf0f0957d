//! versions: v0 v1 v3 v4
//! r0: 5, cu 5
//! versions: v2
//! r0: 5, cu 6
entrypoint:
    lddw r6, function
    callx r6
    exit
    exit
function:
    mov64 r0, 5
    exit
