//! versions: v2
//! trap: DivideOverflow, pc 2, cu 3
entrypoint:
    mov64 r0, 1
    lsh64 r0, 63
    srem64 r0, -1
    exit
