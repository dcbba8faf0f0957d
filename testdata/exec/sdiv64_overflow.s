//! versions: v2
//! trap: DivideOverflow, pc 3, cu 4
//! registers: r0=0x8000000000000000
entrypoint:
    mov64 r0, 1
    lsh64 r0, 63
    mov64 r1, -1
    sdiv64 r0, r1
    exit
