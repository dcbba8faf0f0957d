.globl entrypoint
entrypoint:
    exit
.rodata
.rept 100000
.incbin "include_explosion.s"
.incbin "include_explosion.s"
.endr
