//! versions: v2
//! r0: 0, cu 11
//! registers: r5=0x80000000 r6=0xfffffffc r7=0xffffffff r8=0x7fffffff r9=1
entrypoint:
    mov64 r5, 0x40000000
    mov64 r6, -8
    mov64 r7, -7
    mov64 r8, -1
    mov64 r9, -1
    lmul32 r5, 2
    sdiv32 r6, 2
    srem32 r7, 2
    udiv32 r8, 2
    urem32 r9, 2
    exit
