//! versions: v0 v1 v2 v3 v4
//! budget: 100
//! r0: 98, cu 53
//!
//! versions: v0 v1 v2 v3 v4
//! budget: 53
//! r0: 51, cu 53
//!
//! versions: v0 v1 v2 v3 v4
//! budget: 52
//! trap: ExceededMaxInstructions, pc 2, cu 52
//! registers: r0=50
//!
//! versions: v0 v1 v2 v3 v4
//! budget: 51
//! trap: Syscall(out of compute units), pc 1, cu 51
//! registers: r0=0
.syscall take
entrypoint:
    mov64 r1, 50
    call take
    exit
