//! versions: v1 v2
//! r0: 0x20003ffc0, cu 9
//! registers: r7=0x20003ff80
//! memory: 0x20003ff80 = 2a
entrypoint:
    add64 r10, -64
    call function
    mov64 r0, r10
    mov64 r7, r2
    exit
function:
    add64 r10, -64
    mov64 r2, r10
    stb [r10], 42
    exit
