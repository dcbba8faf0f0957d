// anza sbpf relies on its verifier here and would panic; an engine of ours must not.
//! versions: v0 v3
//! unverified
//! verify: DivisionByZero, pc 0
//! trap: DivideByZero, pc 0, cu 1
entrypoint:
    .quad 0x0000000000000037        // div64 r0, 0
    exit
