//! versions: v0 v3
//! r0: 0x200000fff, cu 5
//! memory: 0x200000ffe = 0005050505050505050500
.syscall fill
entrypoint:
    lddw r1, 0x200000fff
    mov64 r2, 9
    mov64 r3, 5
    call fill
    exit
