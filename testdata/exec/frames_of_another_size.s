//! config: frame=512 depth=3
//! versions: v0
//! r0: 42, cu 8
//! registers: r8=0x200000600 r9=0x200000200
//! memory: 0x2000003f8 = 2a00000000000000
//! versions: v3
//! r0: 42, cu 8
//! registers: r8=0x200000400 r9=0x200000200
//! memory: 0x2000003f8 = 2a00000000000000
//! versions: v1
//! r0: 42, cu 8
//! registers: r8=0x200000600 r9=0x200000600
//! memory: 0x2000005f8 = 2a00000000000000
entrypoint:
    mov64 r9, r10
    call function
    mov64 r8, r2
    exit
function:
    mov64 r2, r10
    stdw [r10 - 8], 42
    ldxdw r0, [r10 - 8]
    exit
