//! versions: v0 v3
//! budget: 1
//! trap: ExceededMaxInstructions, pc 1, cu 1
//! depth: 0
//!
//! versions: v0 v3
//! budget: 2
//! trap: ExceededMaxInstructions, pc 3, cu 2
//! depth: 1
//! returns to: [2]
entrypoint:
    mov64 r0, 1
    call function
    exit
function:
    exit
