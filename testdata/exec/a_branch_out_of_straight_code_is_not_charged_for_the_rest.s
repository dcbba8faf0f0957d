//! versions: v0 v1 v2 v3 v4
//! r0: 100, cu 103
//!
//! versions: v0 v3
//! budget: 103
//! r0: 100, cu 103
//!
//! versions: v0 v3
//! budget: 102
//! trap: ExceededMaxInstructions, pc 502, cu 102
entrypoint:
    mov64 r1, 1
.rept 100
    add64 r0, 1
.endr
    jeq r1, 1, out
.rept 400
    add64 r0, 1
.endr
out:
    exit
