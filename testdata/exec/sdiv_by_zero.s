//! versions: v2
//! trap: DivideByZero, pc 2, cu 3
entrypoint:
    mov64 r0, 1
    lsh64 r0, 63
    sdiv64 r0, r2
    exit
