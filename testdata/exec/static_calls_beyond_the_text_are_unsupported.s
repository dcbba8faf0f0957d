//! versions: v3 v4
//! trap: UnsupportedInstruction, pc 1, cu 2
//! depth: 0
entrypoint:
    mov64 r0, 1
    .quad 0x0000000100001085        // call, to one past the last slot
    exit
