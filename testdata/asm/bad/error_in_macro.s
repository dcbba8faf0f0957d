.macro store_to slot, value
    mov64 r2, \value
    stxdw [r10 - \slot], r11
.endm
.globl entrypoint
entrypoint:
    store_to 8, 0x1ffffffff
    exit
