// anza sbpf relies on its verifier here and would panic; an engine of ours must not.
//! versions: v0 v1 v3 v4
//! unverified
//! verify: LddwCannotBeLast
//! trap: UnsupportedInstruction, pc 1, cu 2
//! registers: r0=1
entrypoint:
    mov64 r0, 1
    .quad 0x0000000200000018
