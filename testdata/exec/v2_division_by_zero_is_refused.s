// anza sbpf relies on its verifier here and would panic; an engine of ours must not.
//! versions: v2
//! unverified
//! verify: DivisionByZero, pc 1
//! trap: DivideByZero, pc 1, cu 2
entrypoint:
    mov64 r0, 1
    .quad 0x00000000000000d6        // sdiv64 r0, 0
    exit
