//! versions: v2
//! r0: 0, cu 7
//! registers: r6=0xfffffffe r7=0x100000001 r8=0
entrypoint:
    mov64 r6, -1
    mov64 r7, -1
    mov64 r8, -1
    uhmul64 r6, -1
    udiv64 r7, -1
    urem64 r8, -1
    exit
