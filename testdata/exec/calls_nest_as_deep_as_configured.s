//! versions: v0 v3
//! config: depth=4
//! trap: CallDepthExceeded, pc 3, cu 13
//! registers: r0=4
//! depth: 4
//! returns to: [4, 4, 4, 4]
//! versions: v0 v3
//! config: depth=5
//! r0: 5, cu 20
//! depth: 0
entrypoint:
    mov64 r1, 5
function:
    add64 r0, 1
    jeq r0, r1, out
    call function
out:
    exit
