//! versions: v0 v1 v2 v3 v4
//! verify: InvalidRegister, pc 0
entrypoint:
.if SBPF_VERSION <= 1
    .quad 0x0000000a0000008d
.elseif SBPF_VERSION == 2
    .quad 0x000000000000a08d
.else
    .quad 0x0000000000000a8d
.endif
    exit
