//! versions: v0
//! r0: 0x200003000, cu 4
//! registers: r10=0x200001000
//! versions: v0
//! config: gaps=off
//! r0: 0x200002000, cu 4
//! versions: v3 v4
//! r0: 0x200002000, cu 4
//! registers: r10=0x200001000
//! versions: v1 v2
//! r0: 0x200040000, cu 4
//! registers: r10=0x200040000
entrypoint:
    call function
    exit
function:
    mov64 r0, r10
    exit
