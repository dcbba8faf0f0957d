//! versions: v0 v1 v2 v3 v4
//! verify: InvalidDestinationRegister, pc 0
entrypoint:
    .quad 0x0000000000000bb7        // mov64 r11, 0
    exit
