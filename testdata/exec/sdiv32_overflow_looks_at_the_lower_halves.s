//! versions: v2
//! trap: DivideOverflow, pc 3, cu 4
entrypoint:
    mov64 r0, -1
    lsh64 r0, 31                    // lower half: the smallest number
    mov32 r1, -1                    // lower half: -1
    sdiv32 r0, r1
    exit
