//! versions: v0 v3
//! trap: DivideByZero, pc 6, cu 5
//! depth: 2
//! returns to: [1, 4]
entrypoint:
    call outer
    exit
outer:
    mov64 r6, 1
    call inner
    exit
inner:
    mov64 r0, 1
    div64 r0, r2
    exit
