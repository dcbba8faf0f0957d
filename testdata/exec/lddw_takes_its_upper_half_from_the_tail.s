//! versions: v0 v1 v3 v4
//! r0: 0xffffffff80000000, cu 2
entrypoint:
    .quad 0x8000000000000018
    .quad 0xffffffff1234ff00        // registers and offset mean nothing here
    exit
