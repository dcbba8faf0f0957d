.rodata
.byte 300, -129, 255, -128
.short 70000
.int 0x1ffffffff
.quad -9223372036854775809, 18446744073709551615
.text
.globl entrypoint
entrypoint:
    exit
