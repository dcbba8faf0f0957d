//! versions: v3 v4
//! trap: UnsupportedInstruction, pc 0, cu 1
entrypoint:
    .quad 0x0000000000002085        // source nibble 2
    exit
