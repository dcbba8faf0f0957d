//! versions: v0 v1 v2 v3 v4
//! r0: 0xffffffffffffff00, cu 6
//! registers: r6=0xffffffffffffffff r7=0xfffffffffffffffe
entrypoint:
    mov64 r0, -1
    mov64 r7, 1
    and64 r0, -256
    or64 r6, -1
    xor64 r7, -1
    exit
