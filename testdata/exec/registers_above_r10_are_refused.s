//! versions: v0 v1 v2 v3 v4
//! verify: InvalidSourceRegister, pc 0
entrypoint:
    .quad 0x000000000000bbbf        // mov64 r11, r11: the source is looked at first
    exit
