//! versions: v0 v1 v2
//! trap: UnsupportedInstruction, pc 0, cu 1
//! depth: 0
entrypoint:
    .quad 0xffffffff00000085        // no relocation replaces the -1
    exit
