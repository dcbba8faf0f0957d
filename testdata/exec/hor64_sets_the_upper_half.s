//! versions: v2
//! r0: 0xfffffffeffffffff, cu 3
entrypoint:
    mov32 r0, -1
    hor64 r0, -2
    exit
