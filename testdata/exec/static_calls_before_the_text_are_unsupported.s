//! versions: v3 v4
//! trap: UnsupportedInstruction, pc 0, cu 1
entrypoint:
    .quad 0xfffffffe00001085        // call, to the slot before the first
    exit
