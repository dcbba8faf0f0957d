//! input: 0102030405060708
//! versions: v0 v1 v2 v3 v4
//! r0: 0, cu 5
//! memory: 0x400000000 = 0101020304050608
.syscall move
entrypoint:
    mov64 r2, r1
    add64 r1, 1
    mov64 r3, 6
    call move
    exit
