//! versions: v2
//! r0: 0, cu 9
//! registers: r6=0xfffffffffffffffe r7=0xffffffffffffffff r8=4 r9=0xffffffffffffffff
entrypoint:
    mov64 r6, 2
    mov64 r7, 2
    mov64 r8, -8
    mov64 r9, -7
    lmul64 r6, -1
    shmul64 r7, -1
    sdiv64 r8, -2
    srem64 r9, -2
    exit
