//! versions: v0 v1 v3 v4
//! trap: UnsupportedInstruction, pc 6, cu 4
//! depth: 1
//! returns to: [4]
entrypoint:
    lddw r6, function
    add64 r6, 8
    callx r6
    exit
function:
    lddw r0, 1
    exit
