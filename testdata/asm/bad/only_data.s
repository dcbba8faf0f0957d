.rodata
a: .byte 1
