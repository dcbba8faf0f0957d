//! heap: 4
//! versions: v0 v1 v3 v4
//! budget: 3
//! trap: ExceededMaxInstructions, pc 4, cu 3
//! memory: 0x300000000 = 00000000
//!
//! versions: v0 v1 v3 v4
//! budget: 4
//! trap: ExceededMaxInstructions, pc 5, cu 4
//! memory: 0x300000000 = 05050505
//!
//! versions: v0 v1 v3 v4
//! budget: 5
//! r0: 0x300000000, cu 5
.syscall fill
entrypoint:
    lddw r1, 0x300000000
    mov64 r2, 4
    mov64 r3, 5
    call fill
    exit
